// The part of the WebAssembly interface that is used here; TypeScript has it only together with the browser's.
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array<ArrayBuffer>)
  }
  class Instance {
    constructor(module: Module, imports?: Record<string, object>)
    readonly exports: Record<string, unknown>
  }
  class Memory {
    constructor(limits: { initial: number })
    readonly buffer: ArrayBuffer
    grow(pages: number): number
  }
  /** On other threads. */
  function compile(bytes: Uint8Array<ArrayBuffer>): Promise<Module>
}
