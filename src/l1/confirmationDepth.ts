import type { L1Client } from './types.ts'

/**
 * The same L1, but reads by number do not see the newest `depth` blocks (`--verifier.l1-confs`,
 * `--sequencer.l1-confs`). Nothing is hidden while the head is unknown, and genesis is never hidden. `l1` must be a
 * plain object, as `createL1Client` returns it.
 */
export function withConfirmationDepth<T extends Pick<L1Client, 'blockInfoByNumber'>>(
  l1: T,
  depth: number,
  headNumber: () => number | undefined,
): T {
  if (depth === 0) return l1
  return {
    ...l1,
    async blockInfoByNumber(number: number) {
      const head = headNumber()
      if (number !== 0 && head !== undefined && number + depth > head) return undefined
      return await l1.blockInfoByNumber(number)
    },
  }
}
