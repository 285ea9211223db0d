import { describe, expect, it } from 'vitest'
import { payloadByNumberProtocols } from '../sync/payloadByNumber.ts'
import { dialectByProtocols } from './dialectByProtocols.ts'

describe('dialectByProtocols', () => {
  const [plain, slashed] = payloadByNumberProtocols(10n)
  const others = ['/meshsub/1.2.0', '/ipfs/id/1.0.0']

  it.each([
    ['op-node', [plain], 'with-topic'],
    ['the Rust nodes', [slashed], 'without-topic'],
    ['ours', [plain, slashed], 'with-topic'],
    ['one that answers no requests', [], undefined],
  ])('knows that of %s', (_, served, form) => {
    expect(dialectByProtocols([...others, ...served])).toBe(form)
  })
})
