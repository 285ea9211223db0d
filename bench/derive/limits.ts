import { brotliCompressSync, constants, deflateSync } from 'node:zlib'
import { concatBytes } from '../../src/lib/bytes.ts'
import { fromHex } from '../../src/lib/hex.ts'
import { silentLogger } from '../../src/lib/logger.ts'
import { encodeRlp } from '../../src/lib/rlp.ts'
import { createDerivationPipeline } from '../../src/rollup/derive/index.ts'
import { watchLoop } from '../loopWatch.ts'
import { config, inFrames, l2Ref, madeL1, nullEngine } from './madeChain.ts'
import { type Figure, turn } from './speed.ts'

// Channels at the limits of the protocol: 100 MB of decompressed data, ten million blocks or transactions. No channel may block
// the event loop.

function uvarint(value: number): Uint8Array {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80)
  return Uint8Array.of(...bytes, rest)
}

const next = l2Ref(1)
const parentCheck = fromHex(next.parentHash).subarray(0, 20)
const originCheck = fromHex(next.l1Origin.hash).subarray(0, 20)
const head = concatBytes(
  Uint8Array.of(1),
  uvarint(next.timestamp - config.genesis.l2Time),
  uvarint(0),
  parentCheck,
  originCheck,
)

/** Header of an RLP string or list of a length above 55 bytes. */
function header(base: number, length: number): Uint8Array {
  const size = Uint8Array.of((length >>> 24) & 0xff, (length >>> 16) & 0xff, (length >>> 8) & 0xff, length & 0xff)
  return concatBytes(Uint8Array.of(base + 59), size)
}

function asItem(content: Uint8Array): Uint8Array {
  return content.length < 2 ** 24 ? encodeRlp(content) : concatBytes(header(0x80, content.length), content)
}

/** The next block as a singular batch with these encoded transactions. */
function singular(transactions: Uint8Array): Uint8Array {
  const list =
    transactions.length < 2 ** 24
      ? shortList(transactions)
      : concatBytes(header(0xc0, transactions.length), transactions)
  const fields = [next.parentHash, next.l1Origin.hash].map((hash) => encodeRlp(fromHex(hash)))
  const body = concatBytes(fields[0] ?? list, encodeRlp(0), fields[1] ?? list, encodeRlp(next.timestamp), list)
  const outer = body.length < 2 ** 24 ? shortList(body) : concatBytes(header(0xc0, body.length), body)
  return concatBytes(Uint8Array.of(0), outer)
}

function shortList(payload: Uint8Array): Uint8Array {
  const { length } = payload
  return concatBytes(Uint8Array.of(0xfa, (length >>> 16) & 0xff, (length >>> 8) & 0xff, length & 0xff), payload)
}

function emptySpan(blocks: number): Uint8Array {
  return concatBytes(head, uvarint(blocks), new Uint8Array(Math.ceil(blocks / 8)), new Uint8Array(blocks))
}

/** One block with this many of the smallest legacy transactions. */
function fullSpan(count: number): Uint8Array {
  const bits = new Uint8Array(Math.ceil(count / 8)).fill(0xff)
  if (count % 8 !== 0) bits[0] = (1 << (count % 8)) - 1
  const data = new Uint8Array(count * 4)
  for (let i = 0; i < count; i++) data.set([0xc3, 0x80, 0x80, 0x80], i * 4)
  const zeros = new Uint8Array(Math.ceil(count / 8))
  const columns = [uvarint(1), Uint8Array.of(0), uvarint(count), bits, zeros, new Uint8Array(count * 64), data]
  return concatBytes(head, ...columns, new Uint8Array(count * 2), zeros)
}

const zlib = (data: Uint8Array): Uint8Array => new Uint8Array(deflateSync(data, { level: 1 }))
const brotli = (data: Uint8Array): Uint8Array =>
  concatBytes(Uint8Array.of(1), brotliCompressSync(data, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }))

const CHANNELS: [string, () => Uint8Array][] = [
  ['zlib, one transaction of 99 MB', () => zlib(asItem(singular(asItem(new Uint8Array(99_000_000).fill(2)))))],
  ['brotli, one transaction of 99 MB', () => brotli(asItem(singular(asItem(new Uint8Array(99_000_000).fill(2)))))],
  [
    'zlib that ends in the middle, 100 MB',
    () => zlib(asItem(singular(asItem(new Uint8Array(99_000_000))))).subarray(0, -40),
  ],
  [
    'brotli with a fault behind 60 MB',
    () => {
      const data = brotli(asItem(singular(asItem(new Uint8Array(99_000_000).map((_, i) => (i * 7919) >>> 8)))))
      return data.fill(0xff, Math.floor(data.length * 0.6))
    },
  ],
  ['zlib that gives 1 GB', () => zlib(new Uint8Array(1_000_000_000))],
  ['a batch of 99 million transactions', () => zlib(asItem(singular(new Uint8Array(99_000_000).fill(2))))],
  ['a span of 10 million empty blocks', () => zlib(asItem(emptySpan(10_000_000)))],
  ['a span block of 1.4 million transactions', () => zlib(asItem(fullSpan(1_400_000)))],
]

export async function limits(): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const [name, make] of CHANNELS) {
    const data = inFrames(make())
    const l1 = madeL1(3, new Map([[1, data]]))
    const pipeline = createDerivationPipeline({ l1, l2: nullEngine, logger: silentLogger }, config)
    let safe = l2Ref(0)
    await pipeline.reset(safe)
    const iterations = watchLoop()
    const before = performance.now()
    for (let blocks = 0; blocks < 1000; ) {
      const step = await pipeline.step(safe)
      if (step.kind === 'idle') break
      if (step.kind !== 'attributes') continue
      safe = l2Ref(safe.number + 1)
      blocks++
    }
    const seconds = (performance.now() - before) / 1000
    figures.push(turn(`longest turn: ${name} (${seconds.toFixed(1)} s, ${safe.number} blocks)`, iterations.longest()))
    iterations.stop()
  }
  return figures
}
