import { type Mcl, SIZES } from './mcl.ts'

/** mcl's functions of one of a curve's two groups. */
interface Calls {
  /** Bytes of a point in mcl's memory. */
  size: number
  /** Field elements of a point: x and y, with two parts each in G2. */
  elements: 2 | 4
  put(at: number, elements: readonly Uint8Array[]): boolean
  isZero(at: number): number
  normalize(target: number, at: number): void
  add(target: number, a: number, b: number): void
  mulVec(target: number, points: number, scalars: number, count: number): void
}

/** Checks whether a point of the curve is in the group. The point must not be the one at infinity. */
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

/** One of a curve's two groups, with reserved memory for some points and results. */
export class CurveGroup {
  readonly mcl: Mcl
  readonly elements: 2 | 4
  readonly size: number
  /** Address of the points, one after another. */
  readonly points: number
  /** Address of the result. */
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

  /** Writes a point by its field elements, big-endian. False if it is not on the curve. The order is not checked. */
  put(index: number, elements: readonly Uint8Array[]): boolean {
    return this.calls.put(this.points + index * this.size, elements)
  }

  /** Whether the point at this index is of the right order. */
  isInGroup(index: number): boolean {
    return this.isZero(index) || this.order.has(this.points + index * this.size)
  }

  /** Whether the point at this index is the one at infinity. */
  isZero(index: number): boolean {
    return this.calls.isZero(this.points + index * this.size) === 1
  }

  /** Sets the result to the sum of the first two points. */
  addTwo(): void {
    this.calls.add(this.result, this.points, this.points + this.size)
  }

  /** Sets the result to the sum of `count` points, each times its scalar, plus an earlier sum. Returns the result. */
  addMultiples(scalars: number, count: number, before: Uint8Array | undefined): Uint8Array {
    const { calls, mcl, points, result, size } = this
    calls.mulVec(result, points, scalars, count)
    if (before !== undefined) {
      mcl.memory().set(before, points)
      calls.add(result, result, points)
    }
    return mcl.memory().slice(result, result + size)
  }

  /** The result's elements, each right-aligned in `elementBytes` bytes. Zeros: the point at infinity. */
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
