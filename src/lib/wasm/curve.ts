import { createCompiled } from './compiled.ts'
import { CURVE } from './curve.generated.ts'

/** What assembly/curve exports; addresses and lengths are in bytes. */
interface CurveExports {
  memory: WebAssembly.Memory
  freeMemory(): number
  tableBytes(): number
  rows(): number
  beginTable(table: number, source: number): void
  fillRow(table: number, row: number): void
  isSignedBy(generatorTable: number, keyTable: number, source: number, isOdd: number): number
}

/** What is known of a public key to check signatures by it: multiples of it and of the generator. */
export interface KeyTable {
  /** Makes it the table of this key, 64 bytes, of which nothing is there yet. */
  begin(key: Uint8Array): void
  /** Makes so many rows of multiples more, 0.2 to 0.5 ms each, if any are missing. True when none are. */
  fill(rows: number): boolean
  /**
   * Whether this key is what is recovered from a signature (r ‖ s) of the hash. r and s are above 0 and below the
   * group's order. False also where that cannot be told, see the source: no such signature is known. The table is
   * complete.
   */
  isSignedBy(hash: Uint8Array, compact: Uint8Array, yParity: number): boolean
}

export interface Curve {
  /** Takes 295 kB of memory that are not given back. */
  addTable(): KeyTable
}

/** secp256k1's generator (SEC 2, section 2.4.1). */
const GENERATOR = Buffer.from(
  '79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8',
  'hex',
)
const PAGE_BYTES = 65_536
/** A hash and a signature, or a point. */
const SOURCE_BYTES = 96

const curveModule = createCompiled(CURVE)

/** An instance of the module, with a memory of its own. Undefined where the processor cannot run it. */
export function createCurve(): Curve | undefined {
  const module = curveModule()
  if (module === undefined) return undefined
  // The module is assembly/curve, compiled: a test holds it to its source, whose exports these are.
  const exports = new WebAssembly.Instance(module).exports as unknown as CurveExports
  const { memory } = exports
  const tableBytes = exports.tableBytes()
  const rowCount = exports.rows()
  const source = exports.freeMemory()
  let free = source + SOURCE_BYTES
  let bytes = new Uint8Array(memory.buffer)

  const reserveTable = (): Rows => {
    const at = free
    free += tableBytes
    if (free > bytes.length) {
      memory.grow(Math.ceil((free - bytes.length) / PAGE_BYTES))
      bytes = new Uint8Array(memory.buffer)
    }
    return { at, filled: rowCount }
  }
  const begin = (rows: Rows, point: Uint8Array): void => {
    bytes.set(point, source)
    exports.beginTable(rows.at, source)
    rows.filled = 0
  }

  const generator = reserveTable()
  begin(generator, GENERATOR)
  return {
    addTable() {
      const key = reserveTable()
      return {
        begin: (point) => begin(key, point),
        fill(rows) {
          let left = rows
          for (const table of [generator, key]) {
            for (; left > 0 && table.filled < rowCount; left--) exports.fillRow(table.at, table.filled++)
          }
          return generator.filled === rowCount && key.filled === rowCount
        },
        isSignedBy(hash, compact, yParity) {
          bytes.set(hash, source)
          bytes.set(compact, source + hash.length)
          return exports.isSignedBy(generator.at, key.at, source, yParity) === 1
        },
      }
    },
  }
}

/** Where the rows of a table are, and how many of them. */
interface Rows {
  at: number
  filled: number
}
