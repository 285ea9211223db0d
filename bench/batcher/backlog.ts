import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { loadRecordedChain } from '../../src/batcher/testUtils/recordedChain.ts'
import { concatBytes } from '../../src/lib/bytes.ts'
import { quantityToNumber, toQuantity } from '../../src/lib/hex.ts'
import { encodeRlp } from '../../src/lib/rlp.ts'
import { listen } from '../../src/lib/testUtils/listen.ts'
import type { BacklogFigures } from './backlogProcess.ts'
import { transactionJson } from './chains.ts'

const BLOCKS = 100_000
const TRANSACTION_BYTES = 300
const MAX_ADDED_BYTES = 250_000_000
const MAX_TURN_MS = 20
/** Number of different transactions. Blocks use them in turn. */
const TRANSACTIONS = 5_000
const PROCESS = fileURLToPath(new URL('./backlogProcess.ts', import.meta.url))

/**
 * Loads a backlog of 100,000 blocks, each with two transactions of 300 bytes, in a submitter. Returns true if the targets are
 * met.
 */
export async function backlog(): Promise<boolean> {
  const server = await serveBacklog()
  try {
    const args = ['--disable-warning=ExperimentalWarning', PROCESS, server.url, String(BLOCKS)]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const figures = JSON.parse(await text(child.stdout)) as BacklogFigures
    const isMet = figures.addedBytes <= MAX_ADDED_BYTES && figures.longestIterationMs <= MAX_TURN_MS
    console.log(`\nbacklog of ${BLOCKS} blocks with two transactions of ${TRANSACTION_BYTES} bytes`)
    console.log(
      `memory ${(figures.addedBytes / 1e6).toFixed(0)} MB more (limit ${MAX_ADDED_BYTES / 1e6}), ` +
        `${figures.blocks} blocks held in ${(figures.heldBytes / 1e6).toFixed(0)} MB; longest turn ${figures.longestIterationMs.toFixed(1)} ms ` +
        `(limit ${MAX_TURN_MS}); ${figures.seconds.toFixed(1)} s  ${isMet ? 'met' : 'NOT MET'}`,
    )
    return isMet
  } finally {
    await server.close()
  }
}

/** L1, L2 and rollup node at one address. Responses are concatenated text, because the server must cost little. */
async function serveBacklog() {
  const { rollup, config, blocks } = loadRecordedChain('holocene-span-brotli-calldata')
  const deposit = JSON.stringify(blocks[1]?.transactions[0])
  const transactions = Array.from({ length: TRANSACTIONS }, (_, index) =>
    JSON.stringify(transactionJson(transactionOf(Number(config.l2ChainId), index))),
  )
  const hash = (number: number) => `0x1${number.toString(16).padStart(63, '0')}`
  const head = { hash: hash(1), number: 1, parentHash: hash(0), timestamp: 0 }
  const l2Ref = (number: number) => ({ ...head, hash: hash(number), number, l1origin: { hash: hash(1), number: 1 } })
  const block = (number: number) =>
    `{"hash":"${hash(number)}","parentHash":"${hash(number - 1)}","number":"${toQuantity(number)}",` +
    `"timestamp":"${toQuantity(config.genesis.l2Time + number * config.blockTime)}","transactions":` +
    `[${deposit},${transactions[(2 * number) % TRANSACTIONS]},${transactions[(2 * number + 1) % TRANSACTIONS]}]}`
  const answers: Record<string, string> = {
    eth_blockNumber: `"${toQuantity(BLOCKS)}"`,
    eth_getTransactionCount: '"0x0"',
    optimism_rollupConfig: JSON.stringify(rollup),
    optimism_syncStatus: JSON.stringify({
      head_l1: head,
      current_l1: head,
      safe_l2: l2Ref(0),
      local_safe_l2: l2Ref(0),
      unsafe_l2: l2Ref(BLOCKS),
    }),
  }
  let chainIds = 0
  const l1Head = JSON.stringify({ ...blocks[1], number: '0x1', hash: hash(1) })
  const resultOf = (method: string, params: unknown[], isBatch: boolean): string => {
    // The first request is to L1.
    if (method === 'eth_chainId') return `"${toQuantity(chainIds++ === 0 ? config.l1ChainId : config.l2ChainId)}"`
    if (method !== 'eth_getBlockByNumber') return answers[method] ?? 'null'
    return params[1] !== true && !isBatch ? l1Head : block(quantityToNumber(params[0]))
  }
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await text(request)) as Call | Call[]
    const answer = ({ id, method, params }: Call) =>
      `{"jsonrpc":"2.0","id":${id},"result":${resultOf(method, params, Array.isArray(body))}}`
    response.setHeader('content-type', 'application/json')
    response.end(Array.isArray(body) ? `[${body.map(answer)}]` : answer(body))
  })
  return listen(server)
}

interface Call {
  id: number
  method: string
  params: unknown[]
}

function transactionOf(chainId: number, nonce: number): Uint8Array {
  const noise = (bytes: number) => Uint8Array.from({ length: bytes }, () => 1 + Math.floor(Math.random() * 255))
  const encode = (dataBytes: number) =>
    concatBytes(
      Uint8Array.of(2),
      encodeRlp([chainId, nonce + 1, 1, 1e9, 50_000, noise(20), 1, noise(dataBytes), [], 1, noise(32), noise(32)]),
    )
  const overhead = encode(100).length - 100
  return encode(TRANSACTION_BYTES - overhead)
}
