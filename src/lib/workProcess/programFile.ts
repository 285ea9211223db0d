/** The file of the program `name` beside the module `moduleUrl`: TypeScript in a clone, JavaScript in the package. */
export function programFile(name: string, moduleUrl: string): URL {
  return new URL(`./${name}.${moduleUrl.endsWith('.ts') ? 'ts' : 'js'}`, moduleUrl)
}
