import { type Mcl, SIZES } from './mcl.ts'

type Group = 'G1' | 'G2'

/** mcl's functions of one of a curve's two groups. */
function callsOf({ raw }: Mcl, group: Group) {
  return {
    isZero: raw[`mclBn${group}_isZero`],
    isValidOrder: raw[`mclBn${group}_isValidOrder`],
    normalize: raw[`mclBn${group}_normalize`],
    add: raw[`mclBn${group}_add`],
    mulVec: raw[`mclBn${group}_mulVec`],
  }
}

/** One of a curve's two groups, with reserved memory for some points and results. */
export class CurveGroup {
  readonly mcl: Mcl
  /** Field elements of a point: x and y, with two parts each in G2. */
  readonly elements: 2 | 4
  /** Bytes of a point in mcl's memory. */
  readonly size: number
  /** Address of the points, one after another. */
  readonly points: number
  /** Address of the result. */
  readonly result: number
  private readonly calls: ReturnType<typeof callsOf>

  constructor(mcl: Mcl, group: Group, capacity: number) {
    this.mcl = mcl
    this.calls = callsOf(mcl, group)
    this.elements = group === 'G1' ? 2 : 4
    this.size = group === 'G1' ? SIZES.g1 : SIZES.g2
    this.points = mcl.reserve(capacity * this.size)
    this.result = mcl.reserve(this.size)
  }

  /** Writes a point by its field elements, big-endian. False if it is not on the curve. The order is not checked. */
  put(index: number, elements: readonly Uint8Array[]): boolean {
    return this.mcl.putPoint(this.points + index * this.size, elements)
  }

  /** Whether the point at this index is of the right order. */
  isInGroup(index: number): boolean {
    return this.isZero(index) || this.calls.isValidOrder(this.points + index * this.size) === 1
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
