import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { createWalletClient, defineChain, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { createRpcClient, type RpcClient } from '../src/jsonRpc/client.ts'
import { complaintsIn, startTestnet } from '../test/support/testnet.ts'
import type { Endpoints } from '../testnet/runner/events.ts'
import { quantile } from './figures.ts'

// Delay of a follower's new block after the sequencer's, seen from outside. Both are polled by eth RPC for their latest block,
// while users send transactions to all nodes. Run: node bench/testnetLatency.ts [SECONDS] [OUTPUT]
// OUTPUT is the output of `npm start -- --json` of a running testnet. Without it, three nodes are started.

/** Poll interval around the time of a block. It is the error of the measurement. */
const POLL_MS = 2
/** Share of the block time after a block without polls, so that polling costs little. */
const QUIET_PART = 0.8
const TRANSACTIONS_PER_SECOND = 6
const BLOCKS_PER_BATCH = 100
/** The target: the median delay until a block reaches a follower. */
const TARGET_MS = 50
/** The target until a testnet started here is ready. */
const READY_TARGET_S = 60

const [secondsText = '300', output] = process.argv.slice(2)
const seconds = Number(secondsText)
if (!(seconds > 0)) throw new Error(`not a number of seconds: ${secondsText}`)

const started = output === undefined ? await startTestnet() : undefined
try {
  if (started !== undefined) console.log(`ready after ${started.readySeconds} s (target ${READY_TARGET_S} s)`)
  const isInTime = await measure(started ?? readEndpoints(output ?? ''))
  process.exitCode = isInTime && (started?.readySeconds ?? 0) <= READY_TARGET_S ? 0 : 1
} finally {
  await started?.stop()
}

function readEndpoints(path: string): Endpoints {
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    if (line.includes('"event":"ready"')) return JSON.parse(line) as Endpoints
  }
  throw new Error(`${path} has no line of a testnet that is ready`)
}

async function measure(testnet: Endpoints): Promise<boolean> {
  const end = performance.now() + seconds * 1000
  const clients = testnet.nodes.map(({ ethRpc }) => createRpcClient({ url: ethRpc }))
  const complaintsBefore = complaintsIn(join(testnet.dir, 'logs')).length
  const [sent, ...seen] = await Promise.all([
    sendTransactions(testnet, end),
    ...clients.map((client) => watch(client, testnet.l2.blockTime * 1000, end)),
  ])
  const [sequencer, ...followers] = seen
  if (sequencer === undefined) throw new RangeError('a testnet has a sequencer')
  const all: number[] = []
  for (const [index, follower] of followers.entries()) {
    const delays = [...sequencer].flatMap(([number, atMs]) => {
      const there = follower.get(number)
      return there === undefined ? [] : [there - atMs]
    })
    all.push(...delays)
    console.log(testnet.nodes[index + 1]?.name ?? '', summary(delays))
  }
  const compared = await compareBlocks(clients)
  await Promise.all(clients.map((client) => client.close()))
  const complaints = complaintsIn(join(testnet.dir, 'logs')).slice(complaintsBefore)
  console.log('all followers', summary(all))
  console.log('transactions', { sent, ...compared })
  console.log('warnings and errors in the logs', complaints.length, complaints.slice(0, 5))
  return quantile(all, 0.5) <= TARGET_MS && compared.differing === 0
}

/** The time at which each new block was first seen. */
async function watch(client: RpcClient, blockTimeMs: number, end: number): Promise<Map<number, number>> {
  const seen = new Map<number, number>()
  let last: number | undefined
  while (performance.now() < end) {
    const number = Number(await client.request('eth_blockNumber', []))
    const nowMs = performance.now()
    if (number !== last) {
      // The arrival times of the first block, and of several blocks at once, are unknown.
      if (last !== undefined && number === last + 1) seen.set(number, nowMs)
      last = number
      await delay(blockTimeMs * QUIET_PART)
    } else {
      await delay(POLL_MS)
    }
  }
  return seen
}

async function sendTransactions(testnet: Endpoints, end: number): Promise<number> {
  let sent = 0
  // The first accounts have roles: batcher, proposer, sequencer.
  const accounts = testnet.accounts.slice(3).map(({ privateKey }) => privateKeyToAccount(privateKey))
  const chain = defineChain({
    id: testnet.l2.chainId,
    name: 'L2',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [] } },
  })
  await Promise.all(
    testnet.nodes.map(async ({ ethRpc }, index) => {
      const account = accounts[index % accounts.length]
      if (account === undefined) return
      const wallet = createWalletClient({ account, chain, transport: http(ethRpc) })
      const client = createRpcClient({ url: ethRpc })
      let nonce = Number(await client.request('eth_getTransactionCount', [account.address, 'pending']))
      await client.close()
      while (performance.now() < end) {
        const fees = { gas: 21_000n, maxFeePerGas: 2_000_000_000n, maxPriorityFeePerGas: 1_000_000n }
        await wallet.sendTransaction({ to: account.address, value: 1n, nonce, ...fees })
        nonce += 1
        sent += 1
        await delay((1000 * testnet.nodes.length) / TRANSACTIONS_PER_SECOND)
      }
    }),
  )
  return sent
}

/** Compares all blocks that every node has, by hash. */
async function compareBlocks(clients: readonly RpcClient[]) {
  const heights = await Promise.all(clients.map(async (client) => Number(await client.request('eth_blockNumber', []))))
  const top = Math.min(...heights)
  let differing = 0
  let included = 0
  for (let first = 0; first <= top; first += BLOCKS_PER_BATCH) {
    const calls = Array.from({ length: Math.min(BLOCKS_PER_BATCH, top + 1 - first) }, (_, offset) => ({
      method: 'eth_getBlockByNumber',
      params: [`0x${(first + offset).toString(16)}`, false],
    }))
    const chains = (await Promise.all(clients.map((client) => client.batch(calls)))) as {
      hash: string
      transactions: string[]
    }[][]
    for (const [index, block] of (chains[0] ?? []).entries()) {
      included += Math.max(0, block.transactions.length - 1)
      if (chains.some((chain) => chain[index]?.hash !== block.hash)) differing += 1
    }
  }
  return { included, blocks: top + 1, differing }
}

function summary(delays: readonly number[]): Record<string, number> {
  const at = (part: number) => Math.round(quantile(delays, part) * 10) / 10
  return { blocks: delays.length, p50Ms: at(0.5), p90Ms: at(0.9), p99Ms: at(0.99), maxMs: at(1) }
}
