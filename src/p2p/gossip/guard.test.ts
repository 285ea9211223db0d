import { describe, expect, it } from 'vitest'
import { type AnyRpc, encodeRpc } from '../hostile/rpcCodec.ts'
import { createRpcGuard, type GuardModules } from './guard.ts'

const TOPIC = '/optimism/10/2/blocks'

function setUp({ score = 0, exhausted = '', broken = '' } = {}) {
  const heard: unknown[][] = []
  const modules: GuardModules = {
    gossip: {
      score: { score: () => score, rejectInvalidMessage: (...message) => void heard.push(['rejected', ...message]) },
    },
    quotas: {
      spend: (_, budget) => {
        if (budget === broken) throw new TypeError('a fault of this node')
        return budget !== exhausted
      },
      drop: (_, offence, count = 1) => void heard.push(['dropped', offence, count]),
      report: (_, offence) => void heard.push(['reported', offence]),
    },
    versionOf: (topic) => (topic === TOPIC ? 3 : undefined),
    onAuthor: (...author) => void heard.push(['author', ...author]),
  }
  const guard = createRpcGuard(modules, { graylistThreshold: -40 })
  return { heard, bytes: (frame: Uint8Array) => guard('a', frame), send: (rpc: AnyRpc) => guard('a', encodeRpc(rpc)) }
}

describe('a message that names its author', () => {
  const data = Uint8Array.of(1)
  it.each([{ from: data }, { seqno: data }, { signature: data }, { key: data }])(
    'is dropped, and counts as invalid: %o',
    (author) => {
      const { send, heard } = setUp()
      const good = { topic: TOPIC, data }
      const rpc = send({ messages: [good, { ...good, ...author }, { topic: 'other', data, ...author }] })
      expect(rpc?.messages.map((message) => message.topic)).toEqual([TOPIC])
      expect(heard).toEqual([
        ['rejected', 'a', TOPIC],
        ['author', 'a', 3],
      ])
    },
  )
})

describe('an RPC', () => {
  const subscriptions = [[TOPIC, true]] as const

  it('of a peer at the graylist threshold is read, below it is not', () => {
    expect(setUp({ score: -40 }).send({ subscriptions })?.subscriptions).toHaveLength(1)
    const { send, heard } = setUp({ score: -40.1 })
    expect(send({ subscriptions })).toBeUndefined()
    expect(heard).toEqual([])
  })

  it('beyond the budget of RPCs is dropped', () => {
    const { send, heard } = setUp({ exhausted: 'rpcs' })
    expect(send({ subscriptions })).toBeUndefined()
    expect(heard).toEqual([['dropped', 'rpc-flood', 1]])
  })

  it('beyond the budget of fields is dropped, and counts once more for each 50 fields', () => {
    const { send, heard } = setUp({ exhausted: 'fields' })
    // Three fields beside the ids.
    for (const ids of [1, 46, 47, 97]) send({ ihave: [new Array(ids).fill(Uint8Array.of(1))] })
    expect(heard).toEqual([1, 1, 2, 3].map((count) => ['dropped', 'rpc-flood', count]))
  })

  it('loses the subscriptions beyond their budget, and nothing else', () => {
    const { send, heard } = setUp({ exhausted: 'subscriptions' })
    expect(send({ subscriptions, graft: [TOPIC] })).toMatchObject({ subscriptions: [], control: { graft: [{}] } })
    expect(heard).toEqual([['dropped', 'subscription-flood', 1]])
    expect(send({ graft: [TOPIC] })).toMatchObject({ control: { graft: [{}] } })
    expect(heard).toHaveLength(1)
  })

  it('that does not decode is reported', () => {
    const { bytes, heard } = setUp()
    expect(bytes(Uint8Array.of(0x1b))).toBeUndefined()
    expect(heard).toEqual([['reported', 'bad-rpc']])
  })

  it('with too many control messages of one kind is reported', () => {
    const { send, heard } = setUp()
    expect(send({ graft: new Array<string>(64).fill(TOPIC) })?.control?.ihave).toEqual([])
    expect(heard).toEqual([])
    expect(send({ graft: new Array<string>(65).fill(TOPIC) })).toBeUndefined()
    expect(heard).toEqual([['reported', 'bad-rpc']])
  })

  it('is not reported for a fault of this node', () => {
    const { send, heard } = setUp({ broken: 'fields' })
    expect(() => send({ graft: [TOPIC] })).toThrow(TypeError)
    expect(heard).toEqual([])
  })

  it('keeps the first 250 ids of its IHAVEs', () => {
    const ids = (count: number) => Array.from({ length: count }, (_, index) => Uint8Array.of(index))
    const ihave = setUp().send({ ihave: [200, 49, 5, 1].map(ids) })?.control?.ihave
    expect(ihave?.map(({ messageIDs }) => messageIDs)).toEqual([200, 49, 1, 0].map(ids))
  })

  it('asks for no backoff above an hour', () => {
    const prune = setUp().send({
      prune: [3_599, 3_601].map((backoffS) => [TOPIC, backoffS] as const),
    })?.control?.prune
    expect(prune?.map(({ backoff }) => backoff)).toEqual([3_599, 3_600])
  })
})
