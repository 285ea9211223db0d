import { type Mcl, SIZES } from './mcl.ts'

/** mcl's functions of one of a curve's two groups. */
interface Calls {
  /** Bytes of a point in mcl's memory. */
  size: number
  /** Field elements of a point: x and y, of two parts each in G2. */
  elements: 2 | 4
  put(at: number, elements: readonly Uint8Array[]): boolean
  isZero(at: number): number
  normalize(target: number, at: number): void
  add(target: number, a: number, b: number): void
  /** Sum of multiples. */
  mulVec(target: number, points: number, scalars: number, count: number): void
}

/** Tells which points of the curve, but the one at infinity, are of the group. */
export interface Order {
  has(point: number): boolean
}

export function orderOfG2({ raw }: Mcl): Order {
  return { has: (point) => raw.mclBnG2_isValidOrder(point) === 1 }
}

const NOTHING = new Uint8Array(0)

function callsOfG1(mcl: Mcl): Calls {
  const { raw } = mcl
  return {
    size: SIZES.g1,
    elements: 2,
    put: (at, [x = NOTHING, y = NOTHING]) => mcl.putG1(at, x, y),
    isZero: raw.mclBnG1_isZero,
    normalize: raw.mclBnG1_normalize,
    add: raw.mclBnG1_add,
    mulVec: raw.mclBnG1_mulVec,
  }
}

function callsOfG2(mcl: Mcl): Calls {
  const { raw } = mcl
  return {
    size: SIZES.g2,
    elements: 4,
    put: (at, [x0 = NOTHING, x1 = NOTHING, y0 = NOTHING, y1 = NOTHING]) => mcl.putG2(at, x0, x1, y0, y1),
    isZero: raw.mclBnG2_isZero,
    normalize: raw.mclBnG2_normalize,
    add: raw.mclBnG2_add,
    mulVec: raw.mclBnG2_mulVec,
  }
}

/** One of a curve's two groups, with room in mcl's memory for some points and for what is computed of them. */
export class CurveGroup {
  readonly mcl: Mcl
  readonly elements: 2 | 4
  readonly size: number
  /** Where the points stand, one behind the other. */
  readonly points: number
  /** Where the result stands. */
  readonly result: number
  private readonly calls: Calls
  private readonly order: Order

  constructor(mcl: Mcl, name: 'g1' | 'g2', capacity: number, order: Order) {
    this.mcl = mcl
    this.order = order
    this.calls = name === 'g1' ? callsOfG1(mcl) : callsOfG2(mcl)
    this.elements = this.calls.elements
    this.size = this.calls.size
    this.points = mcl.reserve(capacity * this.size)
    this.result = mcl.reserve(this.size)
  }

  /** A point by its field elements, big-endian. False where they are none of the curve, of whatever order. */
  put(index: number, elements: readonly Uint8Array[]): boolean {
    return this.calls.put(this.points + index * this.size, elements)
  }

  /** Whether the point that was put is of the right order. */
  isInGroup(index: number): boolean {
    return this.isZero(index) || this.order.has(this.points + index * this.size)
  }

  /** Whether the point that was put is the one at infinity. */
  isZero(index: number): boolean {
    return this.calls.isZero(this.points + index * this.size) === 1
  }

  /** The sum of the first two points becomes the result. */
  addTwo(): void {
    this.calls.add(this.result, this.points, this.points + this.size)
  }

  /** The sum of so many points, each times its scalar, and of an earlier sum becomes the result, which is returned. */
  addMultiples(scalars: number, count: number, before: Uint8Array | undefined): Uint8Array {
    const { calls, mcl, points, result, size } = this
    calls.mulVec(result, points, scalars, count)
    if (before !== undefined) {
      mcl.memory().set(before, points)
      calls.add(result, result, points)
    }
    return mcl.memory().slice(result, result + size)
  }

  /** The result's elements, each at the end of so many bytes; zeros: the point at infinity. */
  take(elementBytes: number): Uint8Array {
    const { calls, mcl, result, elements } = this
    const output = new Uint8Array(elements * elementBytes)
    if (calls.isZero(result) === 1) return output
    calls.normalize(result, result)
    for (let index = 0; index < elements; index++) {
      mcl.takeField(result + index * SIZES.field, output, (index + 1) * elementBytes - mcl.fieldBytes)
    }
    return output
  }
}
