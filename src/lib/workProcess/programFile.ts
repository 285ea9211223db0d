/** Where the program `name` is, beside the module of `moduleUrl`: TypeScript in a clone, JavaScript in the package. */
export function programFile(name: string, moduleUrl: string): URL {
  return new URL(`./${name}.${moduleUrl.endsWith('.ts') ? 'ts' : 'js'}`, moduleUrl)
}
