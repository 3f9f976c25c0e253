// node compile.mjs PYODIDE WORK: byte-compiles WORK/libraries and WORK/project into WORK/*.zip with Pyodide's Python, and
// writes into WORK/memory.bin the memory of a Python that has imported what derives and knows the papers' own steps:
// starting from it takes a fraction of the time.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [pyodide, work] = process.argv.slice(2).map((p) => path.resolve(p));
const { loadPyodide } = await import(pathToFileURL(path.join(pyodide, "pyodide.mjs")));
const source = fs.readFileSync(new URL("compile.py", import.meta.url), "utf8");
const file = (name) => path.join(work, name);

const compiler = await loadPyodide({ indexURL: pyodide + path.sep });
compiler.FS.mkdirTree("/tree");
compiler.FS.mount(compiler.FS.filesystems.NODEFS, { root: work }, "/tree");
compiler.runPython(source);
compiler.runPython(`
import pickle, sys
pack("/tree/libraries", "/tree/libraries.zip", 2, False)
pack("/tree/project", "/tree/project.zip", 0, True)
sys.path[:0] = ["/tree/project", "/tree/libraries.zip"]
from book.live import answers
from checks.run.theories import theories
for theory in theories():
    answers.of_paper(theory)
Path("/tree/papers.pickle").write_bytes(pickle.dumps(answers.PAPERS))
`);

// Pyodide keeps the option to itself, so its version is pinned. The list of packages is that of the worker. Whatever
// came from JavaScript could not be saved.
const { info } = JSON.parse(fs.readFileSync(path.join(pyodide, "pyodide-lock.json"), "utf8"));
const py = await loadPyodide({
  indexURL: pyodide + path.sep, packageBaseUrl: "http://book.invalid/", lockFileContents: { info, packages: {} },
  _makeSnapshot: true,
});
for (const name of ["libraries.zip", "project.zip", "papers.pickle"]) py.FS.writeFile(`/${name}`, fs.readFileSync(file(name)));
py.runPython(source);
py.runPython(`
import pickle, sys
zipfile.ZipFile("/project.zip").extractall("/project")
sys.path[:0] = ["/project", "/libraries.zip"]
from book.live import answers
answers.PAPERS.update(pickle.loads(Path("/papers.pickle").read_bytes()))
shrink("/libraries.zip")
`);
fs.writeFileSync(file("libraries.zip"), py.FS.readFile("/libraries.zip"));
fs.writeFileSync(file("memory.bin"), py.makeMemorySnapshot({ serializer: () => ({}) }));
process.exit(0);
