// Reads a graph in the DOT language, writes its layout as JSON. Argument: path of wasm-graphviz's module.
import { pathToFileURL } from "node:url";
import { readFileSync } from "node:fs";

const { Graphviz } = await import(pathToFileURL(process.argv[2]));
const graphviz = await Graphviz.load();
process.stdout.write(graphviz.layout(readFileSync(0, "utf8"), "json", "dot"));
