import { randomBytes } from 'node:crypto'
import { loadRecordedChain } from '../../../src/batcher/testUtils/recordedChain.ts'
import { concatBytes } from '../../../src/lib/bytes.ts'
import { keccak256Hex } from '../../../src/lib/hash.ts'
import { quantityToNumber, toHex, toQuantity } from '../../../src/lib/hex.ts'
import { encodeRlp } from '../../../src/lib/rlp.ts'
import { type RpcAnswer, SILENCE } from './servers.ts'
import type { StopState } from './states.ts'
import type { World } from './world.ts'

// States of devium-batch-submitter in which it receives the stop signal.

const UNSAFE_BLOCKS = 400
/** Incompressible data. */
const TRANSACTION_BYTES = 20_000
const KEY = `0x${'11'.repeat(32)}`

const hashOf = (number: number) => `0x1${number.toString(16).padStart(63, '0')}`
const { rollup, config, blocks } = loadRecordedChain('holocene-span-brotli-calldata')
const head = { hash: hashOf(1), number: 1, parentHash: hashOf(0), timestamp: 0 }
const l2Ref = (number: number) => ({
  ...{ hash: hashOf(number), number, parentHash: hashOf(number - 1), timestamp: 0, sequenceNumber: 0 },
  l1origin: { hash: hashOf(1), number: 1 },
})

/** An L1 that accepts transactions and never mines them. */
const l1Answer: RpcAnswer = (method) => {
  switch (method) {
    case 'eth_chainId':
      return toQuantity(config.l1ChainId)
    case 'eth_getBlockByNumber':
      return { ...blocks[1], number: '0x1', hash: hashOf(1), transactions: [] }
    case 'eth_sendRawTransaction':
      return hashOf(2)
    case 'eth_getTransactionReceipt':
      return null
    case 'eth_call':
      return '0x'
    default:
      return '0x1'
  }
}

function l2Answer(method: string, params: unknown[]): unknown {
  switch (method) {
    case 'eth_chainId':
      return toQuantity(config.l2ChainId)
    case 'eth_blockNumber':
      return toQuantity(UNSAFE_BLOCKS)
    case 'eth_getBlockByNumber':
      return l2Block(quantityToNumber(params[0]))
    default:
      return true
  }
}

function l2Block(number: number): object {
  const timestamp = toQuantity(config.genesis.l2Time + number * config.blockTime)
  const transactions = [blocks[1]?.transactions[0], transaction(number)]
  return { hash: hashOf(number), parentHash: hashOf(number - 1), number: toQuantity(number), timestamp, transactions }
}

function transaction(nonce: number): object {
  const to = new Uint8Array(20).fill(0x22)
  const input = randomBytes(TRANSACTION_BYTES)
  // Chain, nonce, fees, gas, to, value, data, access list, signature.
  const fields = [Number(config.l2ChainId), nonce, 1, 1, 21_000, to, 0, input, [], 1, 1, 1]
  return {
    type: '0x2',
    hash: keccak256Hex(concatBytes(Uint8Array.of(2), encodeRlp(fields))),
    chainId: toQuantity(config.l2ChainId),
    nonce: toQuantity(nonce),
    maxPriorityFeePerGas: '0x1',
    maxFeePerGas: '0x1',
    gas: toQuantity(21_000),
    to: toHex(to),
    value: '0x0',
    input: toHex(input),
    accessList: [],
    v: '0x1',
    yParity: '0x1',
    r: '0x1',
    s: '0x1',
  }
}

const rollupAnswer: RpcAnswer = (method) => {
  if (method === 'optimism_rollupConfig') return rollup
  const safe = l2Ref(0)
  return { head_l1: head, current_l1: head, safe_l2: safe, local_safe_l2: safe, unsafe_l2: l2Ref(UNSAFE_BLOCKS) }
}

interface SubmitterSetup {
  l1?: RpcAnswer
  rollup?: RpcAnswer
  args?: readonly string[]
}

async function startSubmitter(world: World, setup: SubmitterSetup) {
  const l1 = await world.rpc(setup.l1 ?? l1Answer)
  const l2 = await world.rpc(l2Answer)
  const rollupNode = await world.rpc(setup.rollup ?? rollupAnswer)
  const args = [
    `--l1-eth-rpc=${l1.url}`,
    `--l2-eth-rpc=${l2.url}`,
    `--rollup-rpc=${rollupNode.url}`,
    '--rpc.port=0',
    '--rpc.enable-admin',
    '--log.format=json',
    '--log.level=debug',
    ...(setup.args ?? []),
  ]
  const program = world.start('devium-batch-submitter', args, { env: { DEVIUM_BATCH_SUBMITTER_PRIVATE_KEY: KEY } })
  return { program, l1, rollupNode }
}

const except =
  (method: string, answer: RpcAnswer): RpcAnswer =>
  (called, params) =>
    called === method ? SILENCE : answer(called, params)

export const SUBMITTER_STATES: StopState[] = [
  {
    state: 'an L1 that does not answer at the start',
    async reach(world) {
      const { program, l1 } = await startSubmitter(world, { l1: () => SILENCE })
      await l1.called()
      return { program }
    },
  },
  {
    state: 'a rollup node that does not answer',
    async reach(world) {
      const { program, rollupNode } = await startSubmitter(world, { rollup: () => SILENCE })
      await rollupNode.called('optimism_syncStatus')
      return { program }
    },
  },
  {
    state: 'compressing a channel',
    async reach(world) {
      const args = ['--compression-algo=brotli-11', '--max-l1-tx-size-bytes=120000', '--target-num-frames=40']
      const { program } = await startSubmitter(world, { args })
      await program.prints(/Added L2 block to local state.*"number":40\b/)
      return { program }
    },
  },
  {
    state: 'its process for KZG is loading',
    async reach(world) {
      const { program } = await startSubmitter(world, { args: ['--data-availability-type=blobs'] })
      await program.has(/kzg/)
      return { program }
    },
  },
  {
    state: 'proving blobs',
    async reach(world) {
      const args = ['--data-availability-type=blobs', '--target-num-frames=6', '--txmgr.cell-proof-time=1']
      const { program } = await startSubmitter(world, { args })
      await program.has(/devium-kzg/)
      await program.prints(/Building Blob transaction candidate/)
      return { program }
    },
  },
  {
    state: 'waiting for a transaction to be mined',
    async reach(world) {
      const { program } = await startSubmitter(world, {})
      await program.prints(/Transaction successfully published/)
      return { program }
    },
  },
  {
    state: 'an L1 that falls silent',
    async reach(world) {
      const { program, l1 } = await startSubmitter(world, { l1: except('eth_sendRawTransaction', l1Answer) })
      await l1.called('eth_sendRawTransaction')
      return { program }
    },
  },
]
