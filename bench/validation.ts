import { spawnSync } from 'node:child_process'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Clock, systemClock } from '../src/lib/clock.ts'
import { keccak256 } from '../src/lib/hash.ts'
import { silentLogger } from '../src/lib/logger.ts'
import { nextTurn } from '../src/lib/nextTurn.ts'
import { publicKeyToAddress, recoverCompact } from '../src/lib/secp256k1.ts'
import { createChainTopics } from '../src/p2p/base/topics.ts'
import type { Verdict } from '../src/p2p/base/verdict.ts'
import { createBlockValidator } from '../src/p2p/gossip/blockValidator.ts'
import { inboundMessage } from '../src/p2p/gossip/inboundMessage.ts'
import { createLoopBudget } from '../src/p2p/gossip/loopBudget.ts'
import { createSeenBlocks } from '../src/p2p/gossip/seenBlocks.ts'
import { createSigners } from '../src/p2p/gossip/signers.ts'
import { createValidation, type Validation } from '../src/p2p/gossip/validation.ts'
import { bodyOf } from '../src/p2p/inspection/inspection.ts'
import { messageId, unpackMessage } from '../src/p2p/inspection/messageId.ts'
import { SEQUENCER_ADDRESS } from '../src/p2p/testUtils/testChain.ts'
import { EMPTY_TRIE_ROOT } from '../src/rollup/protocol/constants.ts'
import {
  decodePayloadEnvelope,
  orderedTrieRoot,
  payloadBlockHash,
  payloadSigningHashOfBody,
} from '../src/rollup/protocol/index.ts'
import { median, quantile } from './figures.ts'
import { watchLoop } from './loopWatch.ts'
import { block, config, FLOODS, message, TOPIC, VERSION } from './validationMessages.ts'

// Gossip messages that one core validates in a second, and the time of each part. Run: node bench/validation.ts
// With --hostile: how long the event loop is blocked while a peer floods the node and valid blocks arrive.

const ROUNDS = 9
const ROUND_MS = 400
/** Messages sent beside the valid blocks. */
const KINDS: typeof FLOODS = { 'no flood': () => new Uint8Array(8), ...FLOODS }
const HOSTILE_MS = 4_000
/** Maximum bytes of a flood, the rate of a gigabit link. */
const FLOOD_BYTES_PER_MS = 125_000
const FLOODING_PEERS = 4
/** Messages of one peer in validation at once. The router's guard queues the rest. */
const UNDER_WAY = 8

interface Size {
  name: string
  transactions: number
  /** Number of different messages, used in turn. */
  pool: number
  /** Target on one core, in messages a second. */
  target: number
}

const SIZES: readonly Size[] = [
  { name: '1 kB', transactions: 2, pool: 200, target: 8_000 },
  { name: '100 kB', transactions: 500, pool: 40, target: 800 },
  { name: '1 MB', transactions: 5_000, pool: 12, target: 80 },
]

const topics = createChainTopics(config, systemClock)
/** A clock whose timeouts for large messages a busy machine does not exceed. */
const clock: Clock = { ...systemClock, setTimeout: (run, delayMs) => systemClock.setTimeout(run, 100 * delayMs) }
const modules = { config, clock, logger: silentLogger, topics, signer: () => SEQUENCER_ADDRESS }
/** Messages are built once, and used for more than a minute. */
const options = { maxAgeS: 600 }

/** Processor microseconds of one call on this thread, the median of several rounds after two warm-up rounds. */
function microseconds<T>(inputs: readonly T[], work: (input: T) => void): number {
  const rounds: number[] = []
  let next = 0
  for (let round = -2; round < ROUNDS; round++) {
    let calls = 0
    const begin = performance.now()
    const before = process.threadCpuUsage()
    while (performance.now() - begin < ROUND_MS / (round < 0 ? 1 : 2)) {
      work(inputs[next++ % inputs.length] as T)
      calls += 1
    }
    const { user, system } = process.threadCpuUsage(before)
    if (round >= 0) rounds.push((user + system) / calls)
  }
  return median(rounds)
}

function mustAccept(verdict: Verdict): void {
  if (verdict.result !== 'accept') throw new Error(`not accepted: ${JSON.stringify(verdict.reason)}`)
}

/** The complete validation of a message on one thread, whatever its size. */
function whole(messages: readonly Uint8Array[]): number {
  const signers = createSigners({ current: modules.signer, clock: systemClock })
  const fresh = () => createBlockValidator({ config, clock: systemClock, signers, seen: createSeenBlocks() }, options)
  let validate = fresh()
  let judged = 0
  return microseconds(messages, (compressed) => {
    if (judged++ % messages.length === 0) validate = fresh()
    const unpacked = unpackMessage(compressed)
    messageId(TOPIC, compressed, unpacked)
    const verdict = validate(VERSION, unpacked)
    if (verdict instanceof Promise) throw new Error('judged later')
    mustAccept(verdict)
  })
}

/** Microseconds of each part. Decoded messages are used in turn too, so that CPU caches are as cold as in the node. */
function parts(messages: readonly Uint8Array[]): Record<string, number> {
  const unpacked = messages.map((compressed) => {
    const result = unpackMessage(compressed)
    if (!result.ok) throw new Error(result.reason)
    return result.data
  })
  const bodies = unpacked.map(bodyOf)
  const envelopes = bodies.map((body) => decodePayloadEnvelope(body, VERSION))
  const hashes = new Map(unpacked.map((data) => [data, payloadSigningHashOfBody(config.l2ChainId, bodyOf(data))]))
  const signingHash = (data: Uint8Array): Uint8Array => hashes.get(data) ?? data
  return {
    unpack: microseconds(messages, unpackMessage),
    'one id': microseconds(unpacked, (data) => messageId(TOPIC, data, { ok: true, data })),
    hash: microseconds(bodies, keccak256),
    root: microseconds(envelopes, ({ payload }) => orderedTrieRoot(payload.transactions)),
    signer: microseconds(unpacked, (data) =>
      publicKeyToAddress(recoverCompact(signingHash(data), data.subarray(0, 64), data[64] ?? 0)),
    ),
    decode: microseconds(bodies, (body) => decodePayloadEnvelope(body, VERSION)),
    header: microseconds(envelopes, (envelope) => payloadBlockHash(envelope, { transactionsRoot: EMPTY_TRIE_ROOT })),
  }
}

/** Validation by the process for large messages: messages a second, and the cost of each for the node's own thread. */
async function byProcess(messages: readonly Uint8Array[]): Promise<{ perSecond: number; mainMs: number }> {
  const perSecond: number[] = []
  const mainMs: number[] = []
  for (let round = -1; round < 5; round++) {
    const validation = createValidation(modules, options)
    await judge(validation, messages[0] ?? new Uint8Array(0))
    const begin = performance.now()
    const before = process.threadCpuUsage()
    // Two in flight, so that the process works while this thread reads a result.
    const waiting = messages.slice(1)
    const lane = async (from: string): Promise<void> => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        mustAccept(await judge(validation, next, from))
      }
    }
    await Promise.all([lane('a'), lane('b')])
    const { user, system } = process.threadCpuUsage(before)
    if (round >= 0) {
      perSecond.push(((messages.length - 1) / (performance.now() - begin)) * 1000)
      mainMs.push((user + system) / 1000 / (messages.length - 1))
    }
    await validation.close()
  }
  return { perSecond: median(perSecond), mainMs: median(mainMs) }
}

async function judge({ ids, validate }: Validation, compressed: Uint8Array, from = 'peer'): Promise<Verdict> {
  const { unpacked } = await ids.identify(inboundMessage({ from, topic: TOPIC, version: VERSION, data: compressed }))
  return validate(VERSION, unpacked)
}

async function throughput(): Promise<void> {
  for (const { name, transactions, pool, target } of SIZES) {
    const messages = Array.from({ length: pool }, () => message(block(transactions)))
    const total = whole(messages)
    const perSecond = 1e6 / total
    console.log(
      `${name} (${transactions} transactions): ${perSecond.toFixed(0)} messages/s on one core, ${total.toFixed(1)} µs each` +
        ` (target ${target}/s: ${perSecond >= target ? 'reached' : 'missed'})`,
    )
    for (const [part, us] of Object.entries(parts(messages))) {
      console.log(
        `  ${part.padEnd(14)} ${us.toFixed(1).padStart(8)} µs  ${((us / total) * 100).toFixed(1).padStart(5)} %`,
      )
    }
    if (transactions < 1_000) continue
    const apart = await byProcess(messages)
    console.log(
      `  by the other process: ${apart.perSecond.toFixed(0)} messages/s;` +
        ` this one is busy for ${apart.mainMs.toFixed(2)} ms of each`,
    )
  }
}

/** Valid blocks from one peer and a flood from another, through the router's scheduling and the other process. */
async function hostile(name: string): Promise<void> {
  const make = KINDS[name]
  if (make === undefined) throw new Error(`no flood is called '${name}'`)
  const validation = createValidation(modules, options)
  const { ids, validate } = validation
  const fair = createLoopBudget()
  const good = Array.from({ length: HOSTILE_MS / 50 }, (_, n) => message(block(n % 10 === 9 ? 5_000 : 2)))
  const flood: Uint8Array[] = []
  const begun = performance.now()
  for (let bytes = 0; bytes < 40_000_000 && flood.length < 40_000 && performance.now() - begun < 3_000; ) {
    const one = make()
    flood.push(one)
    bytes += one.length
  }
  const outcomes = new Map<string, number>()
  const handle = async (compressed: Uint8Array, from: string): Promise<string> => {
    try {
      const turn = fair.take()
      if (turn !== undefined) await turn
      const inbound = inboundMessage({ from, topic: TOPIC, version: VERSION, data: compressed })
      const { unpacked } = await fair.measure(() => ids.identify(inbound))
      const verdict = await fair.measure(() => validate(VERSION, unpacked))
      return verdict.result === 'accept' ? 'accept' : verdict.reason
    } catch (error) {
      return error instanceof Error && 'reason' in error ? String(error.reason) : 'dropped'
    }
  }
  await handle(message(block(5_000)), 'good')
  // Collects the garbage from building the messages, so that it does not count.
  globalThis.gc?.()

  const delay = monitorEventLoopDelay({ resolution: 1 })
  const latencies: number[] = []
  let lost = 0
  let sentBytes = 0
  let isOver = false
  const begin = performance.now()
  delay.enable()
  const iterations = watchLoop()
  const flooding = async (from: string): Promise<void> => {
    let underWay = 0
    while (!isOver) {
      const next = flood[Math.floor(Math.random() * flood.length)]
      if (next === undefined) return
      underWay += 1
      sentBytes += next.length
      void handle(next, from).then((outcome) => {
        underWay -= 1
        if (!isOver) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      })
      const ahead = sentBytes / FLOOD_BYTES_PER_MS - (performance.now() - begin)
      while (!isOver && (underWay >= UNDER_WAY || ahead > 1)) {
        await nextTurn()
        if (underWay < UNDER_WAY && sentBytes / FLOOD_BYTES_PER_MS < performance.now() - begin) break
      }
    }
  }
  const blocks = async (): Promise<void> => {
    for (const compressed of good) {
      await wait(50)
      const sent = performance.now()
      void handle(compressed, 'good').then((outcome) => {
        if (outcome === 'accept') latencies.push(performance.now() - sent)
        else lost += 1
      })
    }
    await wait(300)
    isOver = true
  }
  await Promise.all([...Array.from({ length: FLOODING_PEERS }, (_, n) => flooding(`hostile ${n}`)), blocks()])
  delay.disable()
  iterations.stop()
  await validation.close()
  const ms = (nanoseconds: number): string => (nanoseconds / 1e6).toFixed(1)
  const longest = `${iterations.quantile(0.999).toFixed(1)}, max ${iterations.longest().toFixed(1)} ms`
  const said = [...outcomes].map(([outcome, count]) => `${count} ${outcome}`).join(', ')
  console.log(
    `${name}\n  event-loop delay p50 ${ms(delay.percentile(50))}, p99 ${ms(delay.percentile(99))}, max ${ms(delay.max)} ms; processor time of a turn p99.9 ${longest};` +
      ` ${latencies.length} of ${good.length} good blocks, p50 ${median(latencies).toFixed(1)}, max ${quantile(latencies, 1).toFixed(1)} ms` +
      ` (lost ${lost})\n  flood: ${said}`,
  )
}

const { values } = parseArgs({
  options: { hostile: { type: 'boolean' }, only: { type: 'string', multiple: true }, flood: { type: 'string' } },
})
if (values.flood !== undefined) {
  await hostile(values.flood)
} else if (values.hostile) {
  // Each flood runs in a separate process. Building a flood leaves a gigabyte of garbage, which would be collected during the
  // next one.
  const file = fileURLToPath(import.meta.url)
  for (const name of Object.keys(KINDS)) {
    if (!(values.only?.some((part) => name.includes(part)) ?? true)) continue
    const args = [...process.execArgv, '--expose-gc', file, '--flood', name]
    if (spawnSync(process.execPath, args, { stdio: 'inherit' }).status !== 0) process.exitCode = 1
  }
} else {
  await throughput()
}
