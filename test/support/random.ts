/** Numbers from 0 to 1, reproducible by the seed. */
export function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31
  }
}

/** Random choices for generated tests, reproducible by the seed. */
export class Random {
  private readonly next: () => number

  constructor(seed: number) {
    this.next = randomNumbers(seed)
  }

  /** From 0 to below `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end)
  }

  /** True once in `times`. */
  once(times: number): boolean {
    return this.below(times) === 0
  }

  of<T>(choices: readonly [T, ...T[]]): T {
    return choices[this.below(choices.length)] ?? choices[0]
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)))
  }
}
