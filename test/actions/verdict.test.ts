import { afterEach, describe, expect, it } from 'vitest'
import { createLogger } from '../../src/lib/logger.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import { TestChain, type TestNode, untilIdle } from './harness.ts'

let chain: TestChain
afterEach(() => chain.close())

const health = async ({ node }: TestNode) => {
  const { state, text, causes } = await node.health()
  return { state, text, codes: causes.map(({ code }) => code), commands: causes.map(({ command }) => command) }
}

/** A sequencer and a verifier that receives its blocks as they are published. */
async function startPair(options: ConstructorParameters<typeof TestChain>[0] = {}) {
  chain = new TestChain(options)
  const lines: string[] = []
  const logger = createLogger({ level: 'info', format: 'logfmt', color: false, write: (line) => lines.push(line) })
  const sequencer = await chain.addNode({ sequencing: {}, logger })
  const verifier = await chain.addNode()
  const publish = sequencer.p2p.publish.bind(sequencer.p2p)
  sequencer.p2p.publish = async (envelope) => {
    await publish(envelope)
    verifier.p2p.receive(envelope)
  }
  await chain.advance(10)
  return { sequencer, verifier, verdictLines: () => lines.filter((line) => line.includes('msg="Node is')) }
}

/** Time passes, and L1 has no new block. */
async function withoutL1(seconds: number): Promise<void> {
  for (let passed = 0; passed < seconds; passed++) {
    await chain.clock.advance(1_000)
    await untilIdle()
  }
}

describe('the health verdict on a node', () => {
  it('is healthy while blocks are sealed and received', async () => {
    const { sequencer, verifier } = await startPair()
    expect(await health(sequencer)).toMatchObject({
      state: 'healthy',
      text: 'Sequencer is healthy. It sealed block 10 and gossips to 3 peers.',
    })
    expect(await health(verifier)).toMatchObject({
      state: 'healthy',
      text: 'Verifier is healthy. It received block 10 and has 3 peers.',
    })
  })

  it('is stopped for a stopped sequencer and its verifiers, until it is started again', async () => {
    const { sequencer, verifier, verdictLines } = await startPair()
    await sequencer.node.stopSequencer()
    expect(await health(sequencer)).toMatchObject({
      ...{ state: 'stopped', codes: ['sequencer-stopped'], commands: ['devium sequencer start'] },
    })
    expect(await health(verifier)).toMatchObject({ state: 'healthy' })
    await chain.advance(2)
    expect(await health(verifier)).toMatchObject({ state: 'healthy' })
    await chain.advance(1)
    expect(await health(verifier)).toMatchObject({ state: 'stopped', codes: ['no-blocks'] })
    await chain.advance(50)
    const { registry } = sequencer
    expect(await registry.metrics()).toContain('op_node_default_health{state="stopped"} 1')
    expect(await registry.metrics()).toContain('op_node_default_health{state="healthy"} 0')
    expect((await health(sequencer)).text).toBe(
      'Sequencer is stopped. An operator has stopped the sequencer. There has been no block for 53 s, since block 10.',
    )
    await sequencer.node.startSequencer()
    await chain.advance(20)
    expect(await health(sequencer)).toMatchObject({ state: 'healthy' })
    expect(await health(verifier)).toMatchObject({ state: 'healthy' })
    expect(verdictLines().map((line) => line.replace(/^.*lvl=(\w+) msg="(Node is \w+)".*\n$/, '$1 $2'))).toEqual([
      'info Node is healthy',
      'warn Node is stopped',
      'info Node is healthy',
    ])
  })

  it('at the drift limit, reports that no block is made, since when, and why', async () => {
    // From Fjord on the limit is half an hour.
    const { sequencer } = await startPair({ fork: 'ecotone' })
    await withoutL1(650)
    const { number } = sequencer.node.syncStatus().unsafeL2
    await withoutL1(180)
    expect(sequencer.node.syncStatus().unsafeL2.number).toBe(number)
    expect(sequencer.node.sequencerActive()).toBe(true)
    const { state, codes, text } = await health(sequencer)
    expect(state).toBe('stopped')
    expect(codes).toContain('drift-limit')
    expect(text).toMatch(
      new RegExp(
        `^Sequencer is stopped\\. The sequencer has sealed no block for [34] min, since block ${number}\\. It is at the sequencer drift limit: L1 block \\d+ is needed as origin .* and not there yet\\. The last L1 block arrived 13 min ago\\.$`,
      ),
    )
    await chain.advance(400)
    expect((await health(sequencer)).codes).not.toContain('drift-limit')
  })

  it('reports why an active sequencer makes no block', async () => {
    const { sequencer } = await startPair()
    chain.l1.failure = new Error('L1 is gone')
    await withoutL1(60)
    expect(await health(sequencer)).toMatchObject({
      state: 'stopped',
      text: expect.stringMatching(
        /^Sequencer is stopped\. The sequencer has sealed no block for 5\d s, .* L1 is gone\.$/,
      ),
    })
  })

  it('is degraded for a sequencer without peers, and healthy again when a peer is back', async () => {
    const { sequencer } = await startPair()
    expect((await health(sequencer)).state).toBe('healthy')
    const before = sequencer.p2p.gossip
    sequencer.p2p.gossip = { ...before, state: 'sequencing', connected: 0, subscribers: 0, mesh: 0 }
    expect(await health(sequencer)).toMatchObject({
      state: 'degraded',
      codes: ['no-peers'],
      text: 'Sequencer is degraded. The sequencer has lost all its peers. Other nodes get its blocks through L1 only.',
    })
    sequencer.p2p.gossip = before
    expect((await health(sequencer)).state).toBe('healthy')
  })

  it('names the stopped batch submitter that the safe head waits for, and the command that starts it', async () => {
    chain = new TestChain()
    const startCommand = 'devium batcher start --rpc http://127.0.0.1:8548'
    let running = true
    const batcher = { startCommand, read: async () => ({ ok: running, why: 'as told', running }) }
    const sequencer = await chain.addNode({ sequencing: {}, batcher })
    await chain.advance(5)
    expect(await health(sequencer)).toMatchObject({ state: 'healthy' })
    running = false
    await chain.advance(3)
    expect(sequencer.node.derivationStatus()).toMatchObject({
      ...{ state: 'batcher-stopped', ok: false, command: startCommand },
      text: expect.stringMatching(
        /^The safe head is waiting because the batch submitter is stopped\. .* 8 blocks are not/,
      ),
    })
    expect(await health(sequencer)).toMatchObject({
      ...{ state: 'degraded', codes: ['batcher-stopped'], commands: [startCommand] },
    })
    running = true
    await chain.advance(3)
    await until(() => sequencer.node.derivationStatus().state === 'waiting-for-batches')
    expect(await health(sequencer)).toMatchObject({ state: 'healthy' })
  })
})
