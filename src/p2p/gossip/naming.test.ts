import { describe, expect, it } from 'vitest'
import { payloadByNumberProtocols } from '../sync/payloadByNumber.ts'
import { createIdDialects } from './idDialects.ts'
import { dialectByProtocols, namingOf } from './naming.ts'

const [plain, slashed] = payloadByNumberProtocols(10n)

describe('dialectByProtocols', () => {
  const others = ['/meshsub/1.2.0', '/ipfs/id/1.0.0']

  it.each([
    ['op-node', [plain], 'with-topic'],
    ['the Rust nodes', [slashed], 'without-topic'],
    ['ours', [plain, slashed], 'with-topic'],
    ['one that answers no requests', [], undefined],
  ])('knows that of %s', (_, served, dialect) => {
    expect(dialectByProtocols([...others, ...served])).toBe(dialect)
  })
})

describe('namingOf', () => {
  const [known, unknown] = [Uint8Array.of(1), Uint8Array.of(3)]
  const other = Uint8Array.of(2)

  it('goes by the protocols of a peer that has said nothing, and tells only names that are known', async () => {
    const dialects = createIdDialects()
    dialects.learnMessage({ id: known, idWithoutTopic: other })
    expect(await namingOf(dialects, 'silent', async () => [])).toBeUndefined()
    const opNode = await namingOf(dialects, 'op-node', async () => [plain])
    expect([known, unknown].map((id) => opNode?.nameOf(id))).toEqual([known, unknown])
    const kona = await namingOf(dialects, 'kona', async () => [slashed])
    expect([known, unknown].map((id) => kona?.nameOf(id))).toEqual([other, undefined])
    expect(dialects.shownBy('kona')).toBe('without-topic')
  })

  it('believes what the peer says while its protocols are looked up', async () => {
    const dialects = createIdDialects()
    const naming = await namingOf(dialects, 'kona', async () => {
      dialects.setDialect('kona', 'with-topic')
      return [slashed]
    })
    expect(naming?.nameOf(known)).toEqual(known)
    expect(dialects.shownBy('kona')).toBe('with-topic')
  })
})
