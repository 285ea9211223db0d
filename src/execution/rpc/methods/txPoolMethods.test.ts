import { expect, it } from 'vitest'
import { StreamedJson } from '../../../jsonRpc/bodyChunks.ts'
import { checksumAddress } from '../../../lib/checksumAddress.ts'
import { signTransaction, testAddress, testKey } from '../../testUtils/signTransaction.ts'
import { createTxPoolMethods } from './txPoolMethods.ts'

// test/interop/opGethRpc.test.ts compares the answers' content with op-geth.

const SENDERS = [1, 2, 3].map(testAddress)
const large = signTransaction(testKey(1), { data: new Uint8Array(100_000), gasLimit: 3_000_000n })
const PER_SENDER = 200
const pool = {
  status: () => ({ pending: 0, queued: 0 }),
  senderAddresses: () => SENDERS,
  content: (sender: string) => {
    const list = Array.from({ length: PER_SENDER }, (_, nonce) => ({ ...large, nonce }))
    return sender === SENDERS[1] ? { pending: [], queued: list.slice(0, 1) } : { pending: list, queued: [] }
  },
}
const methods = createTxPoolMethods({ pool })

async function request(name: string, params: string[], signal = new AbortController().signal): Promise<string> {
  const answer = await methods[name]?.(params, { signal, isOver: () => signal.aborted })
  if (!(answer instanceof StreamedJson)) throw new Error(`${name}: not streamed`)
  let text = ''
  for await (const chunk of answer.chunks) text += chunk
  return text
}

it.each([['txpool_content', []] as const, ['txpool_contentFrom', [SENDERS[0] ?? '']] as const])(
  '%s of many megabytes yields to the event loop',
  async (name, params) => {
    let turns = 0
    let isWritten = false
    const tick = () => {
      turns += 1
      if (!isWritten) setImmediate(tick)
    }
    setImmediate(tick)
    const text = await request(name, [...params])
    isWritten = true
    expect(turns).toBeGreaterThan(2)
    const { pending, queued } = JSON.parse(text)
    const [first = '', second = '', third = ''] = SENDERS.map(checksumAddress)
    if (name === 'txpool_contentFrom') {
      expect([Object.keys(pending).length, queued]).toEqual([PER_SENDER, {}])
    } else {
      expect(Object.keys(pending)).toEqual([first, third])
      expect(Object.keys(queued)).toEqual([second])
      expect(Object.keys(pending[third])).toEqual(Array.from({ length: PER_SENDER }, (_, nonce) => String(nonce)))
      expect(queued[second]).toEqual({ 0: { ...pending[first][0] } })
    }
  },
)

it('an answer is not written after its client has disconnected', async () => {
  const client = new AbortController()
  const answer = request('txpool_content', [], client.signal)
  client.abort(new Error('gone'))
  await expect(answer).rejects.toThrow('gone')
  expect(await request('txpool_inspect', [])).toContain(`"199":"${checksumAddress(large.to ?? '0x')}: 0 wei`)
})
