// Python in a module worker, started from a data: address so that it also runs on a page opened as a file. It asks no
// host for anything: fetch is replaced by the parts that the page hands over.
const parts = new Map();
const MOST = 2 ** 30 / 65536; // pages of memory: beyond them Python raises MemoryError, as in the terminal
let py;

const grow = WebAssembly.Memory.prototype.grow;
WebAssembly.Memory.prototype.grow = function (more) {
  if (this.buffer.byteLength / 65536 + more > MOST) throw new RangeError("the memory is bounded");
  return grow.call(this, more);
};

async function unpack(text) {
  const raw = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function take(files) {
  await Promise.all(Object.entries(files).map(async ([name, text]) => parts.set(name, await unpack(text))));
}

self.fetch = async (address) => {
  const name = String(address).replace(/^.*\//, "");
  if (!parts.has(name)) throw new Error(`not part of this book: ${address}`);
  const type = name.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
  return new Response(parts.get(name), { headers: { "Content-Type": type } });
};

const say = (stage) => postMessage({ stage });

// The memory that Python starts from was saved when SymPy was imported and the papers' own steps were derived. A new
// memory is smaller, and must have grown before it is filled.
const grown = (create, bytes) => (settings) => {
  const instantiate = settings.instantiateWasm;
  settings.instantiateWasm = (imports, done) => instantiate(imports, (instance, module) => {
    const memory = instance.exports.memory ?? imports.env.memory;
    memory.grow(Math.max(0, Math.ceil((bytes - memory.buffer.byteLength) / 65536)));
    done(instance, module);
  });
  return create(settings);
};

async function start(files) {
  say("unpacking");
  await take(files);
  say("starting Python");
  const module = (name) => import(URL.createObjectURL(new Blob([parts.get(name)], { type: "text/javascript" })));
  const [{ loadPyodide }, { default: createPyodideModule }] =
    await Promise.all([module("pyodide.mjs"), module("pyodide.asm.mjs")]);
  const memory = parts.get("memory.bin");
  py = await loadPyodide({
    createPyodideModule: grown(createPyodideModule, memory.length),
    indexURL: "http://book.invalid/", packageBaseUrl: "http://book.invalid/",
    lockFileContents: JSON.parse(new TextDecoder().decode(parts.get("lock.json"))),
    _loadSnapshot: memory, _snapshotDeserializer: () => ({}),
  });
  py.FS.writeFile("/libraries.zip", parts.get("libraries.zip"));
  py.unpackArchive(parts.get("project.zip"), "zip", { extractDir: "/project" });
  parts.clear();
}

async function bring(files) {
  await take(files);
  py.unpackArchive(parts.get("flint.whl"), "wheel");
  parts.clear();
}

function judge(...asked) {
  return py.pyimport("book.live.verdicts").judge(...asked, (found) => postMessage({ found }));
}

function derive(...asked) {
  try {
    return py.pyimport("book.live.answers").derive(...asked);
  } catch (error) {
    if (/No module named 'flint'/.test(error.message)) return '{"needs": "flint"}';
    throw error;
  }
}

const calls = {
  start,
  bring,
  derive,
  judge,
};

onmessage = async ({ data: { id, call, asked } }) => {
  try {
    postMessage({ id, answer: (await calls[call](...asked)) ?? "null" });
  } catch (error) {
    postMessage({ id, error: String(error.message ?? error).trim().split("\n").at(-1) });
  }
};
