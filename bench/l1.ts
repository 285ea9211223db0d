import { performance } from 'node:perf_hooks'
import { createRpcClient } from '../src/jsonRpc/client.ts'
import { createL1Client, createReadAhead } from '../src/l1/index.ts'
import type { ReadL1 } from '../src/l1/readAhead.ts'
import { systemClock } from '../src/lib/clock.ts'
import type { Hex } from '../src/lib/hex.ts'
import { silentLogger } from '../src/lib/logger.ts'
import { startAnvil } from '../test/support/anvil.ts'
import { startTcpProxy } from '../testnet/links/tcpProxy.ts'
import { median } from './figures.ts'

// Speed of derivation's L1 reads (header, receipts and transactions of each block), and of a reset's walk back. L1 is near or has
// 20 ms latency, and reads run with and without prefetch. L1 is an Anvil with transactions in every block.
// Run: node bench/l1.ts [BLOCKS]

const LATENCY_MS = 20
const ROUNDS = 5
/** The target: maximum slowdown with 20 ms latency. */
const TARGET_RATIO = 1.3
const TRANSACTIONS_PER_BLOCK = 3
/** Init code of the contract whose logs derivation reads as deposits. */
const LOGGER_INIT_CODE = '0x600d600c600039600d6000f33660006000376001366000a100'

const blocks = Number(process.argv[2] ?? 1_200)
if (!(blocks > 0)) throw new Error(`not a number of blocks: ${process.argv[2]}`)

const anvil = await startAnvil({ args: ['--no-mining', '--order', 'fifo'] })
try {
  const portal = await makeChain(anvil.url)
  const far = await startTcpProxy(Number(new URL(anvil.url).port))
  far.set({ delayMs: LATENCY_MS / 2 })
  const farUrl = `http://127.0.0.1:${far.port}`
  report('one block after the other, near', [await measure(anvil.url, portal, { ahead: false })])
  report('one block after the other, far', [await measure(farUrl, portal, { ahead: false, blocks: 100 })])
  const [near, away]: [number[], number[]] = [[], []]
  // The variants alternate, so that other load affects both.
  for (let round = 0; round < ROUNDS; round++) {
    near.push(await measure(anvil.url, portal, { ahead: true }))
    away.push(await measure(farUrl, portal, { ahead: true }))
  }
  const ratio = report('reading ahead, far', away) / report('reading ahead, near', near)
  console.log(`far / near: ${ratio.toFixed(2)} (target ${TARGET_RATIO})`)
  await measureWayBack(farUrl)
  await far.close()
  process.exitCode = ratio <= TARGET_RATIO ? 0 : 1
} finally {
  await anvil.stop()
}

/** Milliseconds for each block. */
async function measure(
  url: string,
  portal: Hex,
  { ahead, blocks: count = blocks }: { ahead: boolean; blocks?: number },
): Promise<number> {
  const rpc = createRpcClient({ url })
  const modules = { rpc, logger: silentLogger, clock: systemClock }
  const client = createL1Client(modules, { logAddresses: [portal], cacheSize: 5_400 })
  const head = await client.blockInfoByLabel('latest')
  if (head === undefined) throw new Error('L1 has no head')
  const reader = createReadAhead(client)
  if (ahead) reader.onHead(head)
  const startMs = performance.now()
  await readForward(ahead ? reader : client, count)
  const perBlock = (performance.now() - startMs) / count
  await rpc.close()
  return perBlock
}

/** Prints and returns the median. */
function report(name: string, times: readonly number[]): number {
  const perBlock = median(times)
  console.log(`${name}: ${perBlock.toFixed(3)} ms a block, ${Math.round(1000 / perBlock)} blocks/s`)
  return perBlock
}

async function readForward(l1: ReadL1, count: number): Promise<void> {
  for (let number = 1; number <= count; number++) {
    const info = await l1.blockInfoByNumber(number)
    if (info === undefined) throw new Error(`L1 has no block ${number}`)
    const [{ receipts }] = [await l1.receipts(info.hash), await l1.transactions(info.hash)]
    const logs = receipts.flatMap((receipt) => receipt.logs)
    if (number > 1 && logs.length !== TRANSACTIONS_PER_BLOCK) throw new Error(`${logs.length} logs in block ${number}`)
  }
}

async function measureWayBack(url: string): Promise<void> {
  const rpc = createRpcClient({ url })
  const client = createL1Client({ rpc, logger: silentLogger, clock: systemClock })
  const reader = createReadAhead(client)
  const startMs = performance.now()
  let block = await client.blockInfoByLabel('latest')
  const count = Math.min(300, blocks)
  for (let i = 0; i < count && block !== undefined; i++) block = await reader.blockInfoByHash(block.parentHash)
  console.log(`${count} blocks back, far: ${Math.round(performance.now() - startMs)} ms`)
  await rpc.close()
}

/** Returns the address of the logging contract. */
async function makeChain(url: string): Promise<Hex> {
  const rpc = createRpcClient({ url })
  const [from] = (await rpc.request('eth_accounts', [])) as Hex[]
  const hash = await rpc.request('eth_sendTransaction', [{ from, data: LOGGER_INIT_CODE, gas: '0x30d40' }])
  await rpc.request('evm_mine', [])
  const { contractAddress } = (await rpc.request('eth_getTransactionReceipt', [hash])) as { contractAddress: Hex }
  for (let i = 1; i < blocks; i++) {
    const call = { from, to: contractAddress, data: `0x${'ab'.repeat(300)}`, gas: '0x30d40', gasPrice: '0x77359400' }
    await rpc.batch([
      ...Array.from({ length: TRANSACTIONS_PER_BLOCK }, () => ({ method: 'eth_sendTransaction', params: [call] })),
      { method: 'evm_mine', params: [] },
    ])
  }
  await rpc.close()
  return contractAddress
}
