import { randomBytes } from 'node:crypto'
import { loadRecordedRpc } from '../../../src/execution/testUtils/recordedRpc.ts'
import type { RpcClient } from '../../../src/jsonRpc/client.ts'
import { toHex } from '../../../src/lib/hex.ts'
import { until } from '../../../src/lib/testUtils/until.ts'
import { CLOSED_PORT } from '../../../src/p2p/testUtils/rawServer.ts'
import { payloadEnvelopeToJson, ZERO_HASH } from '../../../src/rollup/protocol/index.ts'
import { l1ChainConfig } from '../../../testnet/l1/chainConfig.ts'
import { loadRecording, type Recording, recordedL1Rpc } from '../recording.ts'
import { type RpcAnswer, SILENCE } from './servers.ts'
import type { StopState } from './states.ts'
import type { StoppedProgram } from './stoppedProgram.ts'
import type { World } from './world.ts'

// States of devium--batcher in which it receives the stop signal.

const BLOBS = '2026-holocene-to-karst-blobs'
const CALLDATA = '2026-holocene-isthmus-jovian-calldata'

/** The maximum of an L1 block. Each blob takes 40 ms of a core to verify. */
const BLOBS_PER_BLOCK = 21

interface NodeSetup {
  recording?: typeof BLOBS | typeof CALLDATA
  /** Replaces the recorded L1. */
  l1?: (answer: RpcAnswer) => RpcAnswer
  /** Wraps the real engine. */
  engine?: (answer: RpcAnswer) => RpcAnswer
  blobsAt?: (recording: Recording, slot: number) => unknown
  args?: readonly string[]
}

async function startNode(world: World, setup: NodeSetup) {
  const { recording: name = CALLDATA, l1: changeL1 = same, engine: changeEngine = same, args = [] } = setup
  const recording = loadRecording(name)
  const { genesis, rollup } = loadRecordedRpc(name)
  const recorded = recordedL1Rpc(recording)
  const answer: RpcAnswer = (method, params) =>
    // The recording lacks the signer of blocks.
    method === 'eth_getStorageAt' ? ZERO_HASH : recorded.request(method, params)
  const l1 = await world.rpc(changeL1(answer))
  const geth = await world.geth(genesis)
  const engine = await world.rpc(changeEngine((method, params) => geth.engine.request(method, params)))
  const firstSlotAt = Number(recording.l1[0]?.timestamp)
  const beacon = await world.beacon(firstSlotAt, (slot) =>
    setup.blobsAt === undefined ? blobsAt(recording, slot) : setup.blobsAt(recording, slot),
  )
  const program = world.start('devium--batcher', [
    `--l1=${l1.url}`,
    '--l1.trustrpc',
    '--l1.http-poll-interval=500ms',
    '--verifier.l1-confs=0',
    `--l1.beacon=${beacon.url}`,
    `--l2=${engine.url}`,
    `--l2.jwt-secret=${world.jwtPath}`,
    `--rollup.config=${world.json('rollup.json', rollup)}`,
    `--rollup.l1-chain-config=${world.json('l1.json', l1ChainConfig(900))}`,
    '--rpc.port=0',
    '--rpc.enable-admin',
    '--p2p.listen.tcp=0',
    '--p2p.no-discovery',
    `--p2p.priv.path=${world.path('p2p-key.txt')}`,
    `--p2p.peerstore.path=${world.path('peerstore')}`,
    '--log.format=json',
    ...args,
  ])
  return { program, l1, engine, beacon, recording }
}

/** A client, once the program has started. */
async function clientOf(world: World, program: StoppedProgram): Promise<RpcClient> {
  const { rpc = '' }: { rpc?: string } = JSON.parse(await program.prints(/Rollup node started/))
  return world.client(rpc)
}

const same = (answer: RpcAnswer): RpcAnswer => answer
/** The moment from which the method gets no response. */
const silentAt =
  (...methods: string[]) =>
  (answer: RpcAnswer): RpcAnswer =>
  (method, params) =>
    methods.includes(method) ? SILENCE : answer(method, params)

function blobsAt(recording: Recording, slot: number): unknown {
  const start = Number(recording.l1[0]?.timestamp)
  return recording.l1.find(({ timestamp }) => Number(timestamp) - start === slot)?.blobs
}

/** Whether this is the first block with blobs. */
function isFirst(recording: Recording, slot: number): boolean {
  const first = recording.l1.find(({ blobs = [] }) => blobs.length > 0)
  return Number(first?.timestamp) - Number(recording.l1[0]?.timestamp) === slot
}

/** The right blobs among other valid blobs. */
function fullBlocks(recording: Recording, slot: number): unknown {
  const right = blobsAt(recording, slot)
  const others = Array.from({ length: BLOBS_PER_BLOCK }, () => {
    const blob = randomBytes(131_072)
    // Field elements must be below the field's order.
    for (let at = 0; at < blob.length; at += 32) blob[at] = 0
    return toHex(blob)
  })
  return [...others, ...(Array.isArray(right) ? right : [])]
}

export const NODE_STATES: StopState[] = [
  {
    state: 'an L1 that does not answer at the start',
    async reach(world) {
      const { program, l1 } = await startNode(world, { l1: () => () => SILENCE })
      await l1.called()
      return { program }
    },
  },
  {
    state: 'an engine that cannot be reached',
    async reach(world) {
      const { program } = await startNode(world, { args: [`--l2=http://127.0.0.1:${CLOSED_PORT}`] })
      await program.prints(/Waiting for the L2 engine/)
      return { program }
    },
  },
  {
    state: 'a beacon API that does not answer at the start',
    async reach(world) {
      const silent = await world.rpc(() => SILENCE)
      const { program, l1 } = await startNode(world, { args: [`--l1.beacon=${silent.url}`] })
      await l1.called('eth_getBlockByNumber')
      return { program }
    },
  },
  {
    state: 'its process for KZG is loading',
    async reach(world) {
      const { program, beacon } = await startNode(world, { recording: BLOBS, blobsAt: fullBlocks })
      await beacon.called('/eth/v1/beacon/blobs/')
      await program.has(/kzg/)
      return { program }
    },
  },
  {
    state: 'deriving blobs',
    async reach(world) {
      const isWarm = Promise.withResolvers<void>()
      const { program } = await startNode(world, {
        recording: BLOBS,
        async blobsAt(recording, slot) {
          if (isFirst(recording, slot)) return blobsAt(recording, slot)
          await isWarm.promise
          return fullBlocks(recording, slot)
        },
      })
      const node = await clientOf(world, program)
      // The blobs of a first block have been verified, so the KZG process has loaded.
      await expectSafe(node, 1)
      isWarm.resolve()
      await program.works(/devium-kzg/)
      return { program }
    },
  },
  {
    state: 'an engine that does not answer',
    async reach(world) {
      const { program, engine } = await startNode(world, { engine: silentAt('engine_getPayloadV4') })
      await engine.called('engine_getPayloadV4')
      return { program }
    },
  },
  {
    state: 'waiting for the sync of its engine',
    async reach(world) {
      const syncing = (method: string) => /^engine_(newPayload|forkchoiceUpdated)/.test(method)
      const status = { status: 'SYNCING', latestValidHash: null, validationError: null }
      const { program, engine, recording } = await startNode(world, {
        engine: (answer) => (method, params) =>
          syncing(method) ? { ...status, payloadStatus: status, payloadId: null } : answer(method, params),
        args: ['--syncmode=execution-layer'],
      })
      const node = await clientOf(world, program)
      const [, , , , envelope] = recording.l2
      if (envelope === undefined) throw new Error('no recorded block')
      await node.request('admin_postUnsafePayload', [payloadEnvelopeToJson(envelope)])
      await engine.called('engine_newPayloadV3')
      return { program }
    },
  },
  {
    state: 'making blocks with an engine that does not answer',
    async reach(world) {
      const { program, engine } = await startNode(world, {
        engine: silentAt('engine_getPayloadV3'),
        args: ['--sequencer.enabled', `--p2p.sequencer.key=${'11'.repeat(32)}`],
      })
      await engine.called('engine_getPayloadV3')
      return { program }
    },
  },
  {
    state: 'making blocks',
    async reach(world) {
      const { program, engine } = await startNode(world, {
        args: ['--sequencer.enabled', `--p2p.sequencer.key=${'11'.repeat(32)}`],
      })
      await engine.called('engine_getPayloadV3')
      return { program }
    },
  },
  {
    state: 'an L1 that falls silent while it is read',
    async reach(world) {
      const { program, l1 } = await startNode(world, { l1: silentAt('eth_getBlockReceipts') })
      await l1.called('eth_getBlockReceipts')
      return { program }
    },
  },
]

async function expectSafe(node: RpcClient, least: number) {
  await until('a safe block', async () => {
    const status = (await node.request('optimism_syncStatus', [])) as { safe_l2: { number: number } }
    return status.safe_l2.number >= least
  })
}
