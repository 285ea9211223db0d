import { describe, expect, it } from 'vitest'
import { type RpcClient, RpcTransportError } from '../../jsonRpc/client.ts'
import type { JsonValue } from '../../jsonRpc/types.ts'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { ActiveSequencer } from './activeSequencer.ts'

type Answer = JsonValue | Error
type Rpc = Pick<RpcClient, 'request' | 'batch' | 'url'>

function rpc(name: string, answers: Record<string, () => Answer>, calls: string[] = []): Rpc {
  const request = async (method: string) => {
    calls.push(`${name} ${method}`)
    const answer = answers[method]?.() ?? null
    if (answer instanceof Error) throw answer
    return answer
  }
  return { url: `http://${name}`, request, batch: (list) => Promise.all(list.map(({ method }) => request(method))) }
}

const away = () => new RpcTransportError('rpc-transport', 'connect ECONNREFUSED')

describe('several sequencers', () => {
  function setUp() {
    const active = new Map<string, Answer>([
      ['a', true],
      ['b', false],
      ['c', false],
    ])
    const calls: string[] = []
    const clock = new ManualClock()
    const endpoints = [...active.keys()].map((name) => ({
      rollup: rpc(
        name,
        { admin_sequencerActive: () => active.get(name) ?? false, optimism_syncStatus: () => name },
        calls,
      ),
      l2: rpc(`${name}-l2`, { eth_blockNumber: () => name }, calls),
    }))
    const modules = { clock, logger: silentLogger }
    return {
      active,
      calls,
      clock,
      sequencer: new ActiveSequencer(modules, endpoints, { checkIntervalMs: 5_000, timeoutMs: 1_000 }),
    }
  }

  it('are asked for the active one, and rollup node and execution client change together', async () => {
    const { active, calls, clock, sequencer } = setUp()
    expect(await sequencer.rollup.request('optimism_syncStatus', [])).toBe('a')
    active.set('a', away())
    active.set('c', true)
    expect(await sequencer.l2.request('eth_blockNumber', [])).toBe('a')
    await clock.advance(5_000)
    const both = [sequencer.rollup.request('optimism_syncStatus', []), sequencer.l2.request('eth_blockNumber', [])]
    expect(await Promise.all(both)).toEqual(['c', 'c'])
    expect(calls.filter((call) => call.endsWith('admin_sequencerActive'))).toEqual(
      ['a', 'a', 'b', 'c'].map((name) => `${name} admin_sequencerActive`),
    )
  })

  it('are asked again after the clock has gone back', async () => {
    const { active, clock, sequencer } = setUp()
    expect(await sequencer.rollup.request('optimism_syncStatus', [])).toBe('a')
    await clock.advance(-3_600_000)
    active.set('a', away())
    active.set('b', true)
    expect(await sequencer.rollup.request('optimism_syncStatus', [])).toBe('b')
  })

  it('are all named in the error if none is active', async () => {
    const { active, sequencer } = setUp()
    active.set('a', false)
    await expect(sequencer.l2.request('eth_blockNumber', [])).rejects.toThrow(
      errorWith('no-active-sequencer', 'http://a', 'http://b', 'http://c'),
    )
    active.set('b', true)
    expect(await sequencer.l2.request('eth_blockNumber', [])).toBe('b')
  })
})
