import { describe, expect, it } from 'vitest'
import { payloadByNumberProtocols } from '../sync/payloadByNumber.ts'
import { createIdDialects } from './idDialects.ts'
import { namingOf } from './naming.ts'

const [plain, slashed] = payloadByNumberProtocols(10n)

describe('namingOf', () => {
  const [known, unknown] = [Uint8Array.of(1), Uint8Array.of(3)]
  const other = Uint8Array.of(2)

  it('goes by the protocols of a peer that has said nothing, and tells only names that are known', async () => {
    const dialects = createIdDialects()
    dialects.learnMessage({ id: known, idWithoutTopic: other })
    expect(await namingOf(dialects, 'answers no requests', async () => ['/meshsub/1.2.0'])).toBeUndefined()
    for (const served of [[plain], [plain, slashed]]) {
      const naming = await namingOf(dialects, 'op-node, or one of ours', async () => ['/meshsub/1.2.0', ...served])
      expect([known, unknown].map((id) => naming?.nameOf(id))).toEqual([known, unknown])
    }
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
