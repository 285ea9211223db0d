import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createCallContext } from '../../src/jsonRpc/callContext.ts'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { createPatientClient } from '../../src/jsonRpc/testUtils/patientClient.ts'
import { JsonRpcError } from '../../src/jsonRpc/types.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLogger } from '../../src/lib/logger.ts'
import { errorWith } from '../../src/lib/testUtils/errorWith.ts'
import { until, WAIT_LIMIT_MS } from '../../src/lib/testUtils/until.ts'
import { ConductorClient } from '../../src/rollup/sequencer/index.ts'
import {
  createRaftLog,
  type FakeConductor,
  type RaftLog,
  startFakeConductor,
} from '../../src/rollup/sequencer/testUtils/fakeConductor.ts'
import { createRollupRpc, createRpcMetrics } from '../../src/rpc/index.ts'
import { TestChain, type TestNode, untilIdle } from './harness.ts'

const STOPPED = { active: false }

let chain: TestChain
let log: RaftLog
let opened: AsyncDisposableStack

beforeEach(() => {
  chain = new TestChain()
  log = createRaftLog()
  opened = new AsyncDisposableStack()
  opened.defer(() => chain.close())
})
afterEach(() => opened.disposeAsync())

interface Member extends TestNode {
  conductor: FakeConductor
  rpc: RpcClient
  /** Calls of its conductor. */
  asked: string[]
  /** Those whose answer it has. */
  answered: string[]
}

/** A node that has a conductor of its own; all conductors of a test share the log. */
async function addMember(isLeader: boolean): Promise<Member> {
  const conductor = await startFakeConductor(log, isLeader)
  opened.defer(() => conductor.close())
  const rpc = createPatientClient({ url: conductor.url })
  opened.defer(() => rpc.close())
  const [asked, answered]: [string[], string[]] = [[], []]
  const request: RpcClient['request'] = (method, params, options) => {
    asked.push(method)
    return rpc.request(method, params, options).finally(() => answered.push(method))
  }
  const modules = { rpc: { request }, clock: systemClock, logger: silentLogger }
  const client = new ConductorClient(modules, { timeoutMs: WAIT_LIMIT_MS })
  const node = await chain.addNode({ sequencing: STOPPED, conductor: client })
  return { ...node, conductor, rpc, asked, answered }
}

/** Moves time on to the next block, and waits for the answers of the conductor, which come over HTTP. */
async function nextBlock(member: TestNode): Promise<void> {
  const { number } = member.node.syncStatus().unsafeL2
  await chain.advance(1)
  await until(() => member.node.syncStatus().unsafeL2.number > number)
}

/** Starts the sequencer. Its second block is committed, and the engine does not take it, so that peers do not get it. */
async function commitBlockThatEngineRefuses(member: TestNode): Promise<void> {
  await member.node.startSequencer()
  await nextBlock(member)
  let isTried = false
  member.engine.faults.newPayload = () => {
    isTried = true
    throw new Error('connection lost')
  }
  await chain.clock.advance(950)
  await until(() => isTried)
  await untilIdle()
  expect(member.p2p.published).toHaveLength(1)
}

describe('sequencer with a conductor', () => {
  it('starts only if its conductor is the leader', async () => {
    const { node, conductor } = await addMember(false)
    expect(node.conductorEnabled()).toBe(true)
    await expect(node.startSequencer()).rejects.toMatchObject({ code: 'not-leader' })
    conductor.fault = () => {
      throw new JsonRpcError(-32000, 'no cluster')
    }
    await expect(node.startSequencer()).rejects.toMatchObject({ code: 'leader-unknown' })
    conductor.fault = undefined
    conductor.isLeader = true
    await node.startSequencer()
    expect(node.sequencerActive()).toBe(true)
    // Leadership is queried before anything else, as op-node does.
    conductor.isLeader = false
    await expect(node.startSequencer()).rejects.toMatchObject({ code: 'not-leader' })
  })

  it('commits each block before it becomes the head, then publishes it', async () => {
    const member = await addMember(true)
    const { node, engine, p2p, conductor } = member
    const events: string[] = []
    conductor.fault = (method) => void events.push(method)
    const publish = p2p.publish.bind(p2p)
    p2p.publish = async (envelope) => {
      events.push('publish')
      await publish(envelope)
    }
    engine.faults.newPayload = () => void events.push('insert')
    await node.startSequencer()
    events.length = 0
    await nextBlock(member)
    expect(events).toEqual(['conductor_commitUnsafePayload', 'insert', 'publish'])
    await nextBlock(member)
    expect(log.committed.map(({ payload }) => payload.blockNumber)).toEqual([1, 2])
    expect(log.head?.payload.blockHash).toBe(node.syncStatus().unsafeL2.hash)
  })

  it('neither publishes nor inserts an uncommitted block, and commits the same block a second later', async () => {
    const member = await addMember(true)
    const { node, p2p, conductor, engine, asked, answered } = member
    await node.startSequencer()
    await nextBlock(member)
    const commits = (calls: string[]) => calls.filter((name) => name === 'conductor_commitUnsafePayload').length
    conductor.isLeader = false
    await chain.clock.advance(950)
    await until(() => commits(answered) === 3)
    await chain.clock.advance(999)
    await untilIdle()
    expect(commits(asked)).toBe(3)
    expect(p2p.published).toHaveLength(1)
    expect(node.syncStatus().unsafeL2.number).toBe(1)
    const builds = engine.calls.filter((call) => call === 'forkchoice+').length
    conductor.isLeader = true
    await chain.clock.advance(1000)
    await until(() => node.syncStatus().unsafeL2.number === 2)
    // op-conductor may have stored the block although its answer said otherwise: it must stay the one of its height.
    expect(engine.calls.filter((call) => call === 'forkchoice+').length).toBeLessThanOrEqual(builds + 1)
    expect(log.head?.payload.blockHash).toBe(node.syncStatus().unsafeL2.hash)
  })

  it('stops without waiting for a block that the cluster does not accept', async () => {
    const member = await addMember(true)
    const { node, conductor, answered } = member
    await commitBlockThatEngineRefuses(member)
    const stopping = node.stopSequencer()
    await until(() => answered.at(-1) === 'conductor_leader')
    expect(node.sequencerActive()).toBe(true)
    conductor.isLeader = false
    const joined = node.stopSequencer()
    // The engine is tried again, and the leader queried.
    await chain.clock.advance(1000)
    expect(await stopping).toBe(node.syncStatus().unsafeL2.hash)
    expect(await joined).toBe(await stopping)
    await expect(node.stopSequencer()).rejects.toMatchObject({ code: 'sequencer-stopped' })
  })

  it('completes a stop whose caller has disconnected', async () => {
    const member = await addMember(true)
    const { node, engine, answered } = member
    await commitBlockThatEngineRefuses(member)
    const { dispatcher } = createRollupRpc(
      {
        node,
        p2p: undefined,
        clock: systemClock,
        logger: { ...silentLogger, setLevel: () => {} },
        metrics: createRpcMetrics(new Registry(), 'test'),
      },
      { version: 'test', enableAdmin: true },
    )
    const disconnected = new AbortController()
    const call = dispatcher.handle(
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'admin_stopSequencer', params: [] }),
      createCallContext({ timeoutMs: 60_000, clientDisconnected: () => disconnected.signal }),
    )
    await until(() => answered.at(-1) === 'conductor_leader')
    disconnected.abort(new Error('the client has gone'))
    await call
    expect(node.sequencerActive()).toBe(true)
    delete engine.faults.newPayload
    await chain.clock.advance(1000)
    await until(() => !node.sequencerActive())
    expect(node.syncStatus().unsafeL2.hash).toBe(member.p2p.published[1]?.payload.blockHash)
  })

  it('ends a stop that waits for its block when the node ends', async () => {
    const member = await addMember(true)
    const { node, conductor } = member
    await commitBlockThatEngineRefuses(member)
    const stopping = node.stopSequencer()
    await until(() => conductor.calls.at(-1) === 'conductor_leader')
    const failed = expect(stopping).rejects.toMatchObject({ code: 'node-ending' })
    await chain.close()
    await failed
  })

  it('a stop waits for the committed block', async () => {
    const member = await addMember(true)
    const { node, engine } = member
    await node.startSequencer()
    await nextBlock(member)
    let failures = 1
    engine.faults.newPayload = () => {
      if (failures-- > 0) throw new Error('connection lost')
    }
    await chain.clock.advance(950)
    await until(() => failures === 0)
    await untilIdle()
    const stopping = node.stopSequencer()
    await untilIdle()
    await chain.clock.advance(1000)
    expect(await stopping).toBe(member.p2p.published[1]?.payload.blockHash)
  })

  it('hands over to another sequencer, which continues from the last committed block', async () => {
    const first = await addMember(true)
    const second = await addMember(false)
    await first.node.startSequencer()
    await nextBlock(first)
    await nextBlock(first)
    // The first one has committed block 3 and dies before anybody hears of it.
    first.p2p.publish = async () => {}
    await nextBlock(first)
    for (const envelope of first.p2p.published) second.p2p.receive(envelope)
    await until(() => second.node.syncStatus().unsafeL2.number === 2)
    first.conductor.isLeader = false
    second.conductor.isLeader = true
    const head = log.head
    if (head === undefined) throw new Error('nothing was committed')
    // What op-conductor does for a new leader that lacks one block.
    await expect(second.node.startSequencer(head.payload.blockHash)).rejects.toMatchObject({
      code: 'wrong-head',
    })
    await second.node.postUnsafePayload(head)
    await until(() => second.node.syncStatus().unsafeL2.number === 3)
    await second.node.startSequencer(head.payload.blockHash)
    await nextBlock(second)
    await nextBlock(second)
    // The first one still believes that it leads: nothing of it is accepted any more.
    expect(log.committed.map(({ payload }) => payload.blockNumber)).toEqual([1, 2, 3, 4, 5])
    expect(first.node.syncStatus().unsafeL2.number).toBe(3)
  })

  it('becomes leader by command if the cluster has no leader', async () => {
    const member = await addMember(false)
    member.node.overrideLeader()
    await member.node.startSequencer()
    await nextBlock(member)
    expect(member.conductor.calls).toEqual([])
    expect(member.p2p.published).toHaveLength(1)
  })
})

describe('without a conductor', () => {
  it('a command to lead changes nothing, and a verifier refuses it', async () => {
    const { node } = await chain.addNode({ sequencing: {} })
    expect(node.conductorEnabled()).toBe(false)
    node.overrideLeader()
    await chain.advance(1)
    expect(node.syncStatus().unsafeL2.number).toBe(1)
    const verifier = await chain.addNode()
    expect(() => verifier.node.overrideLeader()).toThrow(errorWith('sequencer-disabled'))
    expect(verifier.node.conductorEnabled()).toBe(false)
    verifier.node.setRecoverMode(true)
  })
})

describe('recover mode', () => {
  it('makes blocks without pool transactions, on the next origin as soon as the timestamp allows it', async () => {
    const engine = chain.createEngine()
    engine.pool = [Uint8Array.of(2, 1)]
    const { node, p2p } = await chain.addNode({ sequencing: { recoverMode: true }, engine })
    await chain.advance(2)
    expect(p2p.published.map(({ payload }) => payload.transactions.length)).toEqual([1, 1])
    node.setRecoverMode(false)
    await chain.advance(2)
    expect(p2p.published.flatMap(({ payload }) => payload.transactions)).toContainEqual(Uint8Array.of(2, 1))
  })
})
