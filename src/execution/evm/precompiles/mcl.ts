import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'

/**
 * The functions used of mcl, a library of pairings and curves in WebAssembly. Arguments are addresses in its memory;
 * the first one receives the result. Flags are 1 for yes.
 */
interface MclExports {
  __wasm_call_ctors(): void
  malloc(bytes: number): number
  mclBn_init(curve: number, compiledTimeVar: number): number
  mclBn_setMapToMode(mode: number): number
  mclBn_verifyOrderG1(flag: number): void
  mclBn_verifyOrderG2(flag: number): void
  mclBnFr_setBigEndianMod(y: number, buffer: number, bytes: number): number
  mclBnFr_deserialize(y: number, buffer: number, bytes: number): number
  mclBnFr_serialize(buffer: number, bytes: number, x: number): number
  mclBnFr_isZero(x: number): number
  mclBnFr_isEqual(x: number, y: number): number
  mclBnFr_neg(y: number, x: number): void
  mclBnFr_inv(y: number, x: number): void
  mclBnFr_mul(z: number, x: number, y: number): void
  mclBnFp_setInt32(y: number, value: number): void
  mclBnFp_deserialize(y: number, buffer: number, bytes: number): number
  mclBnFp_serialize(buffer: number, bytes: number, x: number): number
  mclBnFp_add(z: number, x: number, y: number): void
  mclBnFp_mul(z: number, x: number, y: number): void
  mclBnFp_sqr(y: number, x: number): void
  mclBnFp_neg(y: number, x: number): void
  /** 0 if a root exists. */
  mclBnFp_squareRoot(y: number, x: number): number
  mclBnFp_mapToG1(y: number, x: number): number
  mclBnFp2_mapToG2(y: number, x: number): number
  mclBnG1_clear(x: number): void
  mclBnG1_isZero(x: number): number
  mclBnG1_isValid(x: number): number
  mclBnG1_isValidOrder(x: number): number
  mclBnG1_neg(y: number, x: number): void
  mclBnG1_add(z: number, x: number, y: number): void
  mclBnG1_mul(z: number, x: number, scalar: number): void
  mclBnG1_mulVec(z: number, points: number, scalars: number, count: number): void
  mclBnG1_normalize(y: number, x: number): void
  mclBnG2_clear(x: number): void
  mclBnG2_isZero(x: number): number
  mclBnG2_isValid(x: number): number
  mclBnG2_isValidOrder(x: number): number
  mclBnG2_add(z: number, x: number, y: number): void
  mclBnG2_mulVec(z: number, points: number, scalars: number, count: number): void
  mclBnG2_normalize(y: number, x: number): void
  mclBnGT_mul(z: number, x: number, y: number): void
  mclBnGT_isOne(x: number): number
  mclBn_millerLoopVec(z: number, points: number, twistPoints: number, count: number): void
  mclBn_finalExp(y: number, x: number): void
  mclBn_getUint64NumToPrecompute(): number
  mclBn_precomputeG2(lines: number, point: number): void
  mclBn_precomputedMillerLoop2(z: number, p1: number, lines1: number, p2: number, lines2: number): void
}

export type CurveName = 'bn254' | 'bls12-381' | 'p256'

/** mcl's numbers of the curves (mcl/curve_type.h), and the bytes of a coordinate. */
const CURVES = {
  bn254: { number: 4, fieldBytes: 32 },
  'bls12-381': { number: 5, fieldBytes: 48 },
  p256: { number: 107, fieldBytes: 32 },
} as const

/** MCLBN_COMPILED_TIME_VAR: 64-bit units in Fr (4) times ten, plus those in Fp (6). */
const COMPILED_TIME_VAR = 46
/** MCL_MAP_TO_MODE_HASH_TO_CURVE_07: RFC 9380, which EIP-2537 follows. */
const MAP_TO_MODE = 5

/** Bytes of mcl's values in its memory, for every curve: Fp has six units. Points are x, y, z. */
export const SIZES = { scalar: 32, field: 48, g1: 3 * 48, g2: 6 * 48, gt: 12 * 48 } as const

/** Large enough for every input and output. */
const BUFFER_BYTES = 64

/** Initial memory, as in the package's own loader. */
const MEMORY_PAGES = 32

/** A value that is loaded once, by the first call of `load`. */
export class Lazy<T> {
  private readonly create: () => Promise<T>
  private loaded: T | undefined
  private loading: Promise<void> | undefined

  constructor(create: () => Promise<T>) {
    this.create = create
  }

  /** Undefined if the value is loaded. Retries after a failure. */
  readonly load = (): Promise<void> | undefined => {
    if (this.loaded !== undefined) return undefined
    this.loading ??= this.create()
      .then((value) => {
        this.loaded = value
      })
      .finally(() => {
        this.loading = undefined
      })
    return this.loading
  }

  get value(): T {
    if (this.loaded === undefined) throw new Error('the value is used before it was loaded')
    return this.loaded
  }
}

/**
 * The package's WebAssembly, which its script contains as base64. The package's own loader decodes it character by
 * character and compiles it again for each curve: 40 ms and 14 MB each time.
 */
const compiled = new Lazy(async () => {
  const script = createRequire(import.meta.url).resolve('mcl-wasm/dist/mcl_c.js')
  const [, base64] = /wasmBase64 = '([^']+)'/.exec(await readFile(script, 'latin1')) ?? []
  if (base64 === undefined) throw new Error(`no WebAssembly in ${script}`)
  return WebAssembly.compile(Buffer.from(base64, 'base64'))
})

function refuseRandomValues(): never {
  throw new Error('mcl-wasm wants random values')
}

/**
 * One instance of mcl with one curve. Callers lay out its memory with `reserve`. Values in it are valid until the next
 * yield to the event loop, when other callers may compute.
 */
export class Mcl {
  readonly raw: MclExports
  readonly fieldBytes: number
  private readonly wasmMemory: WebAssembly.Memory
  private readonly buffer: number
  private bytes: Uint8Array

  private constructor(raw: MclExports, wasmMemory: WebAssembly.Memory, fieldBytes: number) {
    this.raw = raw
    this.wasmMemory = wasmMemory
    this.fieldBytes = fieldBytes
    this.buffer = raw.malloc(BUFFER_BYTES)
    this.bytes = new Uint8Array(wasmMemory.buffer)
  }

  /** The first load takes 0.03 s, mostly in one task of the event loop. */
  static async load(name: CurveName): Promise<Mcl> {
    const wasmMemory = new WebAssembly.Memory({ initial: MEMORY_PAGES })
    await compiled.load()
    const imports = { env: { memory: wasmMemory, cryptoGetRandomValues: refuseRandomValues } }
    // A module's exports are untyped. The tests call each function.
    const raw = new WebAssembly.Instance(compiled.value, imports).exports as unknown as MclExports
    raw.__wasm_call_ctors()
    const { number, fieldBytes } = CURVES[name]
    if (raw.mclBn_init(number, COMPILED_TIME_VAR) !== 0) throw new Error(`mcl-wasm does not know the curve ${name}`)
    if (name === 'bls12-381') raw.mclBn_setMapToMode(MAP_TO_MODE)
    // Each precompile checks the order of points where its rules require it.
    raw.mclBn_verifyOrderG1(0)
    raw.mclBn_verifyOrderG2(0)
    return new Mcl(raw, wasmMemory, fieldBytes)
  }

  /** Allocates memory permanently. */
  reserve(bytes: number): number {
    const at = this.raw.malloc(bytes)
    if (at === 0) throw new Error(`mcl-wasm has no ${bytes} bytes left`)
    return at
  }

  /** A view of the memory, valid until the next call. */
  memory(): Uint8Array {
    // When memory grows, earlier views become empty.
    if (this.bytes.length === 0) this.bytes = new Uint8Array(this.wasmMemory.buffer)
    return this.bytes
  }

  /** Writes a big-endian field element. False if it is not below the field's prime. */
  putField(at: number, value: Uint8Array): boolean {
    this.putReversed(value)
    return this.raw.mclBnFp_deserialize(at, this.buffer, this.fieldBytes) === this.fieldBytes
  }

  takeField(at: number, target: Uint8Array, offset: number): void {
    const { buffer, fieldBytes } = this
    this.raw.mclBnFp_serialize(buffer, fieldBytes, at)
    const memory = this.memory()
    for (let i = 0; i < fieldBytes; i++) target[offset + fieldBytes - 1 - i] = memory[buffer + i] ?? 0
  }

  /** Writes a big-endian scalar of 32 bytes. False if it is not below the group's order. */
  putScalar(at: number, value: Uint8Array): boolean {
    this.putReversed(value)
    return this.raw.mclBnFr_deserialize(at, this.buffer, 32) === 32
  }

  takeScalar(at: number): Uint8Array {
    this.raw.mclBnFr_serialize(this.buffer, 32, at)
    return this.memory()
      .slice(this.buffer, this.buffer + 32)
      .reverse()
  }

  /** Writes a big-endian integer of up to 48 bytes, modulo the group's order. */
  putScalarModulo(at: number, value: Uint8Array): void {
    this.memory().set(value, this.buffer)
    this.raw.mclBnFr_setBigEndianMod(at, this.buffer, value.length)
  }

  /**
   * Writes a point by its field elements: x and y, or x0, x1, y0, y1 on the twist. All zero: the point at infinity.
   * False if it is not on the curve.
   */
  putPoint(at: number, elements: readonly Uint8Array[]): boolean {
    const { raw } = this
    const isOnTwist = elements.length === 4
    if (elements.every(isZero)) {
      if (isOnTwist) raw.mclBnG2_clear(at)
      else raw.mclBnG1_clear(at)
      return true
    }
    let end = at
    for (const element of elements) {
      if (!this.putField(end, element)) return false
      end += SIZES.field
    }
    // The third coordinate is one.
    raw.mclBnFp_setInt32(end, 1)
    if (isOnTwist) raw.mclBnFp_setInt32(end + SIZES.field, 0)
    return (isOnTwist ? raw.mclBnG2_isValid(at) : raw.mclBnG1_isValid(at)) === 1
  }

  private putReversed(value: Uint8Array): void {
    const memory = this.memory()
    const last = value.length - 1
    for (let i = 0; i <= last; i++) memory[this.buffer + i] = value[last - i] ?? 0
  }
}

export function isZero(bytes: Uint8Array): boolean {
  for (const byte of bytes) if (byte !== 0) return false
  return true
}
