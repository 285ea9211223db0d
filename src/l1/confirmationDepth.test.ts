import { expect, it } from 'vitest'
import type { L1BlockInfo } from '../rollup/protocol/types.ts'
import { withConfirmationDepth } from './confirmationDepth.ts'

const l1 = {
  async blockInfoByNumber(number: number): Promise<L1BlockInfo | undefined> {
    return { hash: '0x', number, parentHash: '0x', timestamp: 0, mixHash: '0x', baseFeePerGas: 0n }
  },
}

it.each([
  { depth: 0, head: 10, number: 10, visible: true },
  { depth: 4, head: 10, number: 6, visible: true },
  { depth: 4, head: 10, number: 7, visible: false },
  { depth: 4, head: 2, number: 0, visible: true },
  { depth: 4, head: 2, number: 1, visible: false },
  { depth: 4, head: undefined, number: 9, visible: true },
])('at depth $depth and head $head block $number is visible: $visible', async ({ depth, head, number, visible }) => {
  const hidden = withConfirmationDepth(l1, depth, () => head)
  expect((await hidden.blockInfoByNumber(number)) !== undefined).toBe(visible)
})
