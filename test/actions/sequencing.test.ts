import type { Registry } from 'prom-client'
import { afterEach, describe, expect, it } from 'vitest'
import { createLogRecorder } from '../../src/batcher/testUtils/logRecorder.ts'
import { JsonRpcError } from '../../src/jsonRpc/types.ts'
import { metricValue } from '../../src/lib/testUtils/metricValue.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import type { PayloadEnvelope } from '../../src/rollup/protocol/index.ts'
import { TestChain, untilIdle } from './harness.ts'

let chain: TestChain
afterEach(() => chain.close())

function numbers(envelopes: readonly PayloadEnvelope[]): number[] {
  return envelopes.map(({ payload }) => payload.blockNumber)
}

const metricOf = (registry: Registry, name: string) => metricValue(registry, `op_node_default_${name}`)

describe('sequencer', () => {
  it('seals one block a second, each head at its timestamp, and advances the origin with L1', async () => {
    chain = new TestChain()
    const { node, engine, p2p } = await chain.addNode({ sequencing: {} })
    await chain.advance(10)
    const { unsafeL2 } = node.syncStatus()
    expect(unsafeL2.number).toBe(10)
    expect(unsafeL2.timestamp).toBe(chain.config.genesis.l2Time + 10)
    // L1 block 5 has timestamp 10, but was mined after block 10 had been started.
    expect(unsafeL2.l1Origin.number).toBe(4)
    expect(engine.label('latest')).toBe(unsafeL2.hash)
    expect(numbers(p2p.published)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  })

  it('continues when the clock is set forward while it waits', async () => {
    chain = new TestChain()
    const { node } = await chain.addNode({ sequencing: {} })
    await chain.advance(2)
    const { now } = chain.clock
    let behindMs = 18_000_000
    chain.clock.now = () => now.call(chain.clock) - behindMs
    await chain.advance(5)
    expect(node.syncStatus().unsafeL2.number).toBeLessThan(5)
    behindMs = 0
    await chain.advance(5)
    expect(node.syncStatus().unsafeL2.number).toBe(12)
  })

  it('logs empty blocks only rarely', async () => {
    chain = new TestChain()
    const log = createLogRecorder()
    const sequencer = await chain.addNode({ sequencing: {}, logger: log.logger })
    const verifier = await chain.addNode({ logger: log.logger })
    sequencer.p2p.publish = async (envelope) => verifier.p2p.receive(envelope)
    await chain.advance(121)
    expect(verifier.node.syncStatus().unsafeL2.number).toBeGreaterThan(100)
    const shown = (message: string) => log.of(message).filter(({ lvl }) => lvl === 'info')
    for (const message of ['Sequenced block', 'Inserted new L2 unsafe block']) {
      expect(log.of(message).length).toBeGreaterThan(100)
      expect(shown(message).map(({ skipped_lines: skipped }) => skipped)).toEqual([undefined, 59, 59])
    }
  })

  it('exports metrics: active or not, and transactions by kind', async () => {
    chain = new TestChain()
    const { node, registry } = await chain.addNode({ sequencing: {} })
    await chain.advance(3)
    expect(await registry.metrics()).toContain('op_node_default_sequencer_active 1')
    expect(await registry.metrics()).toContain('op_node_default_transactions_sequenced_total{type="deposits"} 3')
    expect(await registry.metrics()).toContain('op_node_default_transactions_sequenced_total{type="txns"} 0')
    await node.stopSequencer()
    expect(await registry.metrics()).toContain('op_node_default_sequencer_active 0')
  })

  it('counts errors, and measures building and sealing time', async () => {
    chain = new TestChain()
    const { engine, registry } = await chain.addNode({ sequencing: {} })
    const metric = (name: string) => metricOf(registry, name)
    await chain.advance(2)
    expect(await metric('sequencer_insert_seconds_count')).toBe(2)
    expect(await metric('publish_delay_seconds_count')).toBe(2)
    expect(await metric('sequencer_sealing_total')).toBe(2)
    expect(await metric('sequencer_sealing_seconds_count')).toBe(2)
    expect(await metric('sequencer_building_diff_total')).toBe(2)
    // Built from its parent's time to 50 ms before its own.
    expect(await metric('sequencer_building_diff_seconds_sum')).toBeCloseTo(-0.1)
    engine.faults.getPayload = () => {
      delete engine.faults.getPayload
      throw new JsonRpcError(-38001, 'Unknown payload')
    }
    await chain.advance(4)
    expect(await metric('sequencing_errors_total')).toBe(1)
    expect(await metric('last_sequencing_errors_unix')).toBeGreaterThan(0)
    expect(await metric('sequencer_resets_total')).toBe(0)
    chain.l1.rewind(1)
    for (let mined = 0; mined < 4; mined++) chain.l1.mine()
    await chain.advance(3)
    expect(await metric('sequencer_inconsistent_l1_origin_total')).toBe(1)
    expect(await metric('sequencer_resets_total')).toBe(1)
  })

  it('seals 50 ms before the timestamp, and publishes what it has inserted', async () => {
    chain = new TestChain()
    const { engine, p2p } = await chain.addNode({ sequencing: {} })
    const events: string[] = []
    const publish = p2p.publish.bind(p2p)
    p2p.publish = async (envelope) => {
      events.push(`publish at ${chain.clock.now() % 10_000}`)
      await publish(envelope)
    }
    engine.faults.newPayload = () => void events.push('insert')
    await untilIdle()
    await chain.clock.advance(949)
    await untilIdle()
    expect(events).toEqual([])
    await chain.clock.advance(1)
    await untilIdle()
    expect(events).toEqual(['insert', 'publish at 950'])
  })

  it.each([
    [120, 880],
    // op-node takes nothing for its default.
    [0, 950],
  ])('seals %i ms before the timestamp if configured', async (sealingMarginMs, sealedAt) => {
    chain = new TestChain()
    const { engine } = await chain.addNode({ sequencing: { sealingMarginMs } })
    await untilIdle()
    await chain.clock.advance(sealedAt - 1)
    await untilIdle()
    expect(engine.calls).not.toContain('getPayload')
    await chain.clock.advance(1)
    await untilIdle()
    expect(engine.calls).toContain('getPayload')
  })

  it('includes transactions of the pool', async () => {
    chain = new TestChain()
    const engine = chain.createEngine()
    const transaction = Uint8Array.of(2, 1, 2, 3)
    engine.pool = [transaction]
    const { p2p } = await chain.addNode({ sequencing: {}, engine })
    await chain.advance(1)
    expect(p2p.published[0]?.payload.transactions.at(-1)).toEqual(transaction)
  })

  it('catches up without pause after an outage, with empty blocks beyond the drift limit', async () => {
    chain = new TestChain()
    await chain.clock.advance(3_000_000)
    const { node, engine, p2p } = await chain.addNode({ sequencing: {} })
    await until(() => node.syncStatus().unsafeL2.number === 1800)
    // From block 1801 on, Fjord's drift of 1800 s over origin 0 is exceeded and the next L1 block is needed.
    await untilIdle()
    expect(node.syncStatus().unsafeL2.number).toBe(1800)
    engine.pool = [Uint8Array.of(2, 9)]
    chain.l1.mine()
    await chain.clock.advance(1000)
    await until(() => node.syncStatus().unsafeL2.number > 1800)
    expect((await engine.payloadByNumber(1801))?.payload.transactions).toHaveLength(2)
    expect(node.syncStatus().unsafeL2.l1Origin.number).toBe(1)
    expect(p2p.published).toEqual([])
  })

  it('does not gossip blocks that are too old for peers to accept', async () => {
    chain = new TestChain()
    await chain.clock.advance(70_000)
    const { node, p2p } = await chain.addNode({ sequencing: {} })
    await until(() => node.syncStatus().unsafeL2.number === 70)
    expect(numbers(p2p.published)[0]).toBe(10)
    expect(p2p.published).toHaveLength(61)
  })

  it('waits for confirmations before it takes an L1 block as origin', async () => {
    chain = new TestChain()
    const { node } = await chain.addNode({ sequencing: { confirmationDepth: 2 } })
    await chain.advance(12)
    expect(chain.l1.head.number).toBe(6)
    expect(node.syncStatus().unsafeL2.l1Origin.number).toBe(3)
  })

  it("stops and starts by command, with op-node's errors", async () => {
    chain = new TestChain()
    const { node, engine } = await chain.addNode({ sequencing: {} })
    await chain.advance(3)
    await expect(node.startSequencer(chain.l1.head.hash)).rejects.toThrow('sequencer already running')
    const head = await node.stopSequencer()
    expect(head).toBe(engine.label('latest'))
    expect(node.sequencerActive()).toBe(false)
    await expect(node.stopSequencer()).rejects.toThrow('sequencer not running')
    await chain.advance(3)
    expect(node.syncStatus().unsafeL2.number).toBe(3)
    await expect(node.startSequencer(chain.l1.head.hash)).rejects.toThrow(
      `block hash does not match: head ${head}:3, received ${chain.l1.head.hash}`,
    )
    await node.startSequencer(head)
    await until(() => node.syncStatus().unsafeL2.number === 6)
    await expect(chain.addNode().then(({ node: verifier }) => verifier.startSequencer())).rejects.toThrow(
      'sequencer is not enabled',
    )
  })

  it('reports a start or stop before it takes effect', async () => {
    chain = new TestChain()
    const changes: boolean[] = []
    const onActiveChange = async (active: boolean) => void changes.push(active)
    const { node } = await chain.addNode({ sequencing: { active: false, onActiveChange } })
    await chain.advance(2)
    expect(node.syncStatus().unsafeL2.number).toBe(0)
    await node.startSequencer()
    await node.stopSequencer()
    expect(changes).toEqual([true, false])
  })

  it('builds again after engine errors', async () => {
    chain = new TestChain()
    const { node, engine } = await chain.addNode({ sequencing: {} })
    await chain.advance(1)
    let failures = 2
    engine.faults.getPayload = () => {
      if (failures-- > 0) throw new JsonRpcError(-38001, 'Unknown payload')
    }
    await chain.advance(6)
    expect(failures).toBeLessThan(0)
    expect(node.syncStatus().unsafeL2.number).toBe(7)
  })

  it('publishes a block only after its insertion, and builds no other block if the insertion fails at first', async () => {
    chain = new TestChain()
    const { node, engine, p2p } = await chain.addNode({ sequencing: {} })
    let failures = 1
    engine.faults.newPayload = () => {
      if (failures-- > 0) throw new Error('connection lost')
    }
    await chain.advance(1)
    expect([node.syncStatus().unsafeL2.number, failures]).toEqual([0, 0])
    expect(p2p.published).toEqual([])
    await chain.advance(2)
    expect(node.syncStatus().unsafeL2.number).toBe(3)
    expect(numbers(p2p.published)).toEqual([1, 2, 3])
    expect((await engine.payloadByNumber(1))?.payload.blockHash).toBe(p2p.published[0]?.payload.blockHash)
  })

  it('publishes an inserted block although it is stopped in between', async () => {
    chain = new TestChain()
    const { node, engine, p2p } = await chain.addNode({ sequencing: {} })
    await chain.advance(2)
    let closing: Promise<void> | undefined
    engine.faults.newPayload = () => {
      closing = chain.close()
    }
    await chain.clock.advance(950)
    await until(() => closing !== undefined)
    await closing
    expect(numbers(p2p.published)).toEqual([1, 2, 3])
    expect(engine.label('latest')).toBe(p2p.published[2]?.payload.blockHash)
    expect(node.syncStatus().unsafeL2.number).toBe(3)
  })

  it('retries publishing every second while it makes further blocks, until peers would refuse the block', async () => {
    chain = new TestChain()
    const log = createLogRecorder()
    const { node, p2p, registry } = await chain.addNode({ sequencing: {}, logger: log.logger })
    const publish = p2p.publish.bind(p2p)
    const tries: number[] = []
    let isDown = true
    p2p.publish = async (envelope) => {
      tries.push(envelope.payload.blockNumber)
      if (isDown) throw new Error('signer is away')
      await publish(envelope)
    }
    await chain.advance(3)
    expect(node.syncStatus().unsafeL2.number).toBe(3)
    expect(tries).toEqual([1, 1, 1])
    expect(await metricOf(registry, 'publish_queue_len')).toBe(3)
    await chain.advance(59)
    expect(log.of('Block is too old to publish, dropping it').map(({ number }) => number)).toEqual([1])
    expect(log.of('Could not publish block').filter(({ lvl }) => lvl === 'warn')).toHaveLength(1)
    expect(await metricOf(registry, 'dropped_publishes_total')).toBe(1)
    isDown = false
    await chain.advance(1)
    // The next ones in their order, as far as peers still take them.
    expect(numbers(p2p.published).slice(0, 2)).toEqual([3, 4])
    expect(numbers(p2p.published).at(-1)).toBe(63)
    expect(await metricOf(registry, 'publish_queue_len')).toBe(0)
    // Blocks 3 to 63 have waited from their own second until now.
    expect(await metricOf(registry, 'publish_delay_seconds_sum')).toBeCloseTo((60 * 61) / 2, -1)
  })

  it('measures how late a gossiped block arrives', async () => {
    chain = new TestChain()
    const sequencer = await chain.addNode({ sequencing: {} })
    const verifier = await chain.addNode({})
    await chain.advance(2)
    const [first, second] = sequencer.p2p.published
    if (first === undefined || second === undefined) throw new Error('no blocks')
    verifier.p2p.receive(first)
    verifier.p2p.receive(second)
    expect(await metricOf(verifier.registry, 'unsafe_payload_arrival_delay_seconds_count')).toBe(2)
    const late = 2 * (chain.clock.now() / 1000) - first.payload.timestamp - second.payload.timestamp
    expect(await metricOf(verifier.registry, 'unsafe_payload_arrival_delay_seconds_sum')).toBeCloseTo(late)
  })

  it('starts no build after a stop during the preparation of attributes', async () => {
    chain = new TestChain()
    const { node, engine } = await chain.addNode({ sequencing: {} })
    await chain.advance(3)
    const answers: (() => void)[] = []
    const read = engine.systemConfigByL2Hash.bind(engine)
    engine.systemConfigByL2Hash = async (hash) => {
      await new Promise<void>((resolve) => answers.push(resolve))
      return read(hash)
    }
    const builds = () => engine.calls.filter((call) => call === 'forkchoice+').length
    const before = builds()
    await chain.clock.advance(1000)
    await until(() => answers.length > 0)
    const head = await node.stopSequencer()
    for (const answer of answers.splice(0)) answer()
    await untilIdle()
    expect(builds()).toBe(before)
    expect(engine.label('latest')).toBe(head)
    await chain.advance(3)
    expect([builds(), engine.label('latest')]).toEqual([before, head])
  })

  it('moves to the new L1 chain after a reorg of its origins', async () => {
    chain = new TestChain()
    const { node } = await chain.addNode({ sequencing: {} })
    await chain.advance(8)
    expect(node.syncStatus().unsafeL2.l1Origin.number).toBe(3)
    chain.l1.rewind(1)
    chain.l1.mine()
    chain.l1.mine()
    chain.l1.mine()
    chain.l1.mine()
    await chain.advance(4)
    const { unsafeL2 } = node.syncStatus()
    expect(unsafeL2.number).toBe(12)
    expect(unsafeL2.l1Origin.hash).toBe(chain.l1.at(unsafeL2.l1Origin.number).hash)
    expect(unsafeL2.l1Origin.number).toBeGreaterThan(3)
  })
})
