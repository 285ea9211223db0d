/**
 * Compiles a base64 module once, on first use. The returned function gives undefined if the processor cannot run the
 * module.
 */
export function createCompiled(base64: string): () => WebAssembly.Module | undefined {
  let compiled: WebAssembly.Module | undefined | 'unsupported'
  return () => {
    if (compiled === undefined) {
      try {
        compiled = new WebAssembly.Module(new Uint8Array(Buffer.from(base64, 'base64')))
      } catch {
        // The processor has no 128-bit vectors.
        compiled = 'unsupported'
      }
    }
    return compiled === 'unsupported' ? undefined : compiled
  }
}
