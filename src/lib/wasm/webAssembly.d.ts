// The part of the WebAssembly interface that we use. TypeScript declares it only together with the browser's types.
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
  /** Compiles on other threads. */
  function compile(bytes: Uint8Array<ArrayBuffer>): Promise<Module>
}
