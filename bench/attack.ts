import { fork } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'
import { signTransaction } from '../src/execution/testUtils/signTransaction.ts'
import { fromHex, type Hex, toHex } from '../src/lib/hex.ts'
import { parseRollupConfig } from '../src/rollup/protocol/index.ts'
import { startTestnet } from '../test/support/testnet.ts'
import { quantile } from './figures.ts'
import { memoryMb, procFile } from './processStats.ts'
import { logEveryBlock, sealedBlocks, summary } from './sequencer/timings.ts'

// Effects of hostile RPC clients on a sequencer: floods of calls, traces, log searches, transactions and large bodies, all at
// once. The sequencer is real: devium-geth and rollup node as processes, one-second blocks. The attackers share the machine.
// Block times are therefore compared with two other phases. One is calm, and in the other a busy program uses as much processor
// time as the attackers. Memory is compared with the calm phase.
// Run: npm run bench:attack [SECONDS]

/** Targets: the 99th percentile of the distance of a block from its timestamp, and the growth of memory. */
const TARGET_MS = 100
const TARGET_MEGABYTES = 150
const CALM_SECONDS = 45
/** Seconds after the start, and after the attack begins, while V8 still compiles. */
const WARM_UP_SECONDS = 15

/** Period in which a hog is busy for its share of a processor. */
const HOG_PERIOD_MS = 20

if (process.argv[2] === 'hog') await beBusy(Number(process.argv[3]))
const seconds = Number(process.argv[2] ?? '300')
if (!(seconds > 0)) throw new Error(`not a number of seconds: ${process.argv[2]}`)

const NOBODY: Hex = '0x00000000000000000000000000000000000abcde'
const LARGE: Hex = `0x${'00'.repeat(2_440_000)}`
const overridden = (code: Hex) => [{ to: NOBODY, gas: '0xffffffff' }, 'latest', { [NOBODY]: { code } }]

const agent = new Agent({ connections: 64 })
const testnet = await startTestnet({ nodes: 1 })
try {
  const [sequencer] = testnet.nodes
  if (sequencer === undefined) throw new RangeError('a testnet has a sequencer')
  await logEveryBlock(sequencer.rollupRpc)
  const url = sequencer.ethRpc
  const config = parseRollupConfig(JSON.parse(readFileSync(join(testnet.joinDir, 'rollup.json'), 'utf8')))
  console.log(`${cpus().length} processors, load ${loadavg().map((load) => load.toFixed(1))}, ${seconds} s of attacks`)

  await delay(WARM_UP_SECONDS * 1000)
  const calm = await measure('calm', CALM_SECONDS)
  const before = memory()
  console.log(`memory ${shown(before)}`)

  const stop = new AbortController()
  const floods = [
    // An endless loop, hashing, endless storage, and a small call.
    flood(url, 'eth_call, endless', 4, () => call('eth_call', overridden('0x5b600056')), stop.signal),
    flood(url, 'eth_call, hashing', 2, () => call('eth_call', overridden('0x5b6210000060002050600056')), stop.signal),
    flood(url, 'eth_call, slots', 2, () => call('eth_call', overridden('0x5f5b8054506001016001565b00')), stop.signal),
    flood(url, 'eth_call, small', 4, () => call('eth_call', [{ to: NOBODY }, 'latest']), stop.signal),
    flood(
      url,
      'eth_estimateGas',
      2,
      () => call('eth_estimateGas', [{ to: NOBODY }, 'latest', { [NOBODY]: { code: '0x5b600056' } }]),
      stop.signal,
    ),
    flood(url, 'eth_getLogs', 4, () => call('eth_getLogs', [{ fromBlock: '0x0', toBlock: 'latest' }]), stop.signal),
    flood(url, 'eth_feeHistory', 2, () => call('eth_feeHistory', ['0x400', 'latest', [10, 50, 90]]), stop.signal),
    flood(url, 'eth_getProof', 2, () => call('eth_getProof', [NOBODY, words(1_000), 'latest']), stop.signal),
    flood(url, 'debug_traceTransaction', 2, await traces(), stop.signal),
    flood(url, 'eth_sendRawTransaction', 4, transactions(), stop.signal),
    flood(
      url,
      'batches of 1,000',
      1,
      () =>
        JSON.stringify(Array.from({ length: 1_000 }, () => JSON.parse(call('eth_getBlockByNumber', ['latest', true])))),
      stop.signal,
    ),
    flood(url, 'bodies of 4.9 MB', 4, () => call('eth_call', [{ to: NOBODY, data: LARGE }, 'latest']), stop.signal),
    flood(url, 'bodies of 4.9 MB that nobody knows', 2, () => call('eth_nonsense', [LARGE]), stop.signal),
  ]
  let peak = before
  const watch = setInterval(() => {
    const now = memory()
    if (sum(now) > sum(peak)) peak = now
  }, 1_000)
  await delay(WARM_UP_SECONDS * 1000)
  const usedBefore = process.cpuUsage()
  const attacked = await measure('attacked', seconds)
  const { user, system } = process.cpuUsage(usedBefore)
  stop.abort()
  for (const { name, answered, failed, latencies } of await Promise.all(floods)) {
    console.log(
      `${name}: ${answered} answered, ${failed} refused or failed, p50 ${quantile(latencies, 0.5).toFixed(0)} ms`,
    )
  }
  // The last requests are in flight, and count.
  clearInterval(watch)
  const after = memory()
  const share = (user + system) / (seconds * 1e6)
  const hogs = Array.from({ length: Math.ceil(share) }, () =>
    fork(fileURLToPath(import.meta.url), ['hog', String(share / Math.ceil(share))], { execArgv: process.execArgv }),
  )
  await delay(WARM_UP_SECONDS * 1000)
  const control = await measure(`control, ${share.toFixed(2)} processors busy with nothing`, CALM_SECONDS)
  for (const child of hogs) child.kill()
  const grown = sum(peak) - sum(before)
  console.log(`memory before ${shown(before)}\nat its peak   ${shown(peak)}\nafter         ${shown(after)}`)
  const times = `${calm} ms calm, ${attacked} ms attacked, ${control} ms beside the hog`
  console.log(`p99 of the distance from the timestamp: ${times} (target ${TARGET_MS})`)
  console.log(`memory grew by ${grown.toFixed(0)} MB at most (target ${TARGET_MEGABYTES})`)
  process.exitCode = attacked <= TARGET_MS && grown <= TARGET_MEGABYTES ? 0 : 1

  /** Returns the 99th percentile of the distance of blocks from their timestamps, in milliseconds. */
  async function measure(what: string, forSeconds: number): Promise<number> {
    const from = Math.ceil(Date.now() / 1000)
    await delay(forSeconds * 1000)
    const blocks = sealedBlocks(join(testnet.dir, 'logs'), config).filter(
      ({ timestamp }) => timestamp > from && timestamp <= from + forSeconds,
    )
    const published = blocks.map(({ publishedAfterMs }) => publishedAfterMs)
    const transactions = blocks.reduce((total, block) => total + block.transactions, 0)
    console.log(
      `\n${what}: load ${loadavg()[0]?.toFixed(1)}, ${transactions} transactions in ${blocks.length} blocks of ${forSeconds} s`,
    )
    console.log('published after its timestamp', summary(published))
    console.log('sealing                      ', summary(blocks.map(({ sealingMs }) => sealingMs)))
    return blocks.length < forSeconds * 0.9 ? Number.POSITIVE_INFINITY : quantile(published.map(Math.abs), 0.99)
  }

  async function traces(): Promise<() => string> {
    const account = testnet.accounts[0]
    if (account === undefined) throw new RangeError('no account may send')
    // A contract creation that loops until its gas is used.
    const { raw, hash } = signTransaction(fromHex(account.privateKey), {
      chainId: BigInt(testnet.l2.chainId),
      nonce: 0,
      to: null,
      data: fromHex('0x5b600056'),
      gasLimit: 5_000_000n,
      maxFeePerGas: 10_000_000_000n,
    })
    await post(url, call('eth_sendRawTransaction', [toHex(raw)]))
    await delay(3_000)
    return () => call('debug_traceTransaction', [hash, { enableMemory: true }])
  }

  /** Transfers with consecutive nonces, from all accounts but the first. */
  function transactions(): () => string {
    const senders = testnet.accounts.slice(1).map(({ privateKey }) => ({ key: fromHex(privateKey), nonce: 0 }))
    let turn = 0
    return () => {
      const sender = senders[turn++ % senders.length]
      if (sender === undefined) throw new RangeError('no account may send')
      const { raw } = signTransaction(sender.key, {
        chainId: BigInt(testnet.l2.chainId),
        nonce: sender.nonce++,
        to: NOBODY,
        value: 1n,
        maxFeePerGas: 10_000_000_000n,
      })
      return call('eth_sendRawTransaction', [toHex(raw)])
    }
  }

  /** Megabytes of each process of the execution client, by role. Shared pages, mainly of the Node binary, count by their share. */
  function memory(): Map<string, number> {
    const sizes = new Map<string, number>()
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      const kind = kindOf(pid)
      if (kind !== undefined) sizes.set(`${kind} ${pid}`, memoryMb(pid, 'smaps_rollup', 'Pss'))
    }
    return sizes
  }

  function kindOf(pid: string): string | undefined {
    const command = procFile(pid, 'cmdline')
    if (command.includes('devium-geth') && command.includes(testnet.dir)) return 'client'
    const parent = /^PPid:\s+(\d+)$/m.exec(procFile(pid, 'status'))?.[1]
    if (parent === undefined || !procFile(parent, 'cmdline').includes('devium-geth')) return undefined
    return procFile(parent, 'cmdline').includes(testnet.dir) ? 'its process' : undefined
  }
} finally {
  await testnet.stop()
}

/** Uses this share of a processor until it is killed. */
async function beBusy(share: number): Promise<never> {
  for (;;) {
    const end = performance.now() + share * HOG_PERIOD_MS
    while (performance.now() < end);
    await delay((1 - share) * HOG_PERIOD_MS)
  }
}

interface Flooded {
  name: string
  answered: number
  failed: number
  latencies: number[]
}

/** Keeps this many requests in flight, and discards the responses. */
async function flood(
  url: string,
  name: string,
  connections: number,
  body: () => string,
  signal: AbortSignal,
): Promise<Flooded> {
  const result: Flooded = { name, answered: 0, failed: 0, latencies: [] }
  const one = async (): Promise<void> => {
    while (!signal.aborted) {
      const startMs = performance.now()
      const isAnswered = await post(url, body(), signal).catch(() => false)
      if (signal.aborted) return
      result.latencies.push(performance.now() - startMs)
      if (isAnswered) result.answered += 1
      else result.failed += 1
      // The attackers share the machine with the client, which must get most of it.
      await delay(5)
    }
  }
  await Promise.all(Array.from({ length: connections }, one))
  return result
}

/** Returns true for a result. */
async function post(url: string, body: string, signal?: AbortSignal): Promise<boolean> {
  const { statusCode, body: answer } = await request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
    dispatcher: agent,
    ...(signal === undefined ? {} : { signal }),
  })
  let start = ''
  for await (const chunk of answer) if (start.length < 200) start += String(chunk).slice(0, 200)
  return statusCode === 200 && !start.includes('"error"')
}

function call(method: string, params: unknown[]): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
}

function words(count: number): Hex[] {
  return Array.from({ length: count }, (_, index): Hex => `0x${index.toString(16).padStart(64, '0')}`)
}

function sum(sizes: ReadonlyMap<string, number>): number {
  return [...sizes.values()].reduce((total, size) => total + size, 0)
}

function shown(sizes: ReadonlyMap<string, number>): string {
  return [...sizes].map(([what, size]) => `${what}: ${size.toFixed(0)} MB`).join(', ')
}
