/**
 * Compiles a module, given in base64, when it is first asked for, and once. The function gives undefined where the
 * processor cannot run it.
 */
export function createCompiled(base64: string): () => WebAssembly.Module | undefined {
  let compiled: WebAssembly.Module | undefined | 'unsupported'
  return () => {
    if (compiled === undefined) {
      try {
        compiled = new WebAssembly.Module(new Uint8Array(Buffer.from(base64, 'base64')))
      } catch {
        // A processor without 128-bit vectors.
        compiled = 'unsupported'
      }
    }
    return compiled === 'unsupported' ? undefined : compiled
  }
}
