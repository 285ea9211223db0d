import { readFile, stat } from 'node:fs/promises'
import { DecodeError, describeError, UsageError } from '../../../lib/errors.ts'
import { fromHex, isHex } from '../../../lib/hex.ts'
import { isObject, type JsonObject } from '../../../lib/jsonReader.ts'
import { encodeFrame } from '../../../rollup/protocol/index.ts'
import type { Kind } from './kinds.ts'
import { type L1TransactionJson, l1TransactionFromJson } from './l1Transaction.ts'

/** Bytes to decode, with their known properties. */
export interface DecodeInput {
  /** A file or `stdin`, and the position in it if there are several. */
  source: string
  bytes: Uint8Array
  /** Known from the surrounding JSON. */
  kind?: Kind
  /** The transaction whose calldata the bytes are. */
  transaction?: L1TransactionJson
}

/** A channel has at most 100 MB, and hex doubles it. */
const MAX_INPUT_BYTES = 256 * 1024 * 1024

/** Reads a file; `-` is standard input. Throws UsageError if the file cannot be read, or holds neither bytes, hex nor JSON. */
export async function readInput(path: string): Promise<DecodeInput[]> {
  const source = path === '-' ? 'stdin' : path
  const content = path === '-' ? await readStdin() : await readWhole(path)
  if (content.length === 0) throw new UsageError(`${source} is empty`)
  return inputsOf(content, source)
}

/** Accepts binary data, lines of hex, and JSON. Throws UsageError. */
export function inputsOf(content: Uint8Array, source: string): DecodeInput[] {
  if (!isText(content)) return [{ source, bytes: content }]
  const text = Buffer.from(content.buffer, content.byteOffset, content.length).toString('utf8').trim()
  try {
    if (/^[[{"]/.test(text)) return inputsOfJson(JSON.parse(text), source)
    const lines = text.split(/\s*\n\s*/).filter((line) => line !== '')
    return lines.map((line, i) => ({
      source: lines.length === 1 ? source : `${source}:${i + 1}`,
      bytes: fromHex(line, undefined, lines.length === 1 ? 'text' : `line ${i + 1}`),
    }))
  } catch (cause) {
    throw new UsageError(`${source}: expected bytes, hex or JSON of a known form: ${describeError(cause)}`, {
      cause,
    })
  }
}

/**
 * Accepts hex texts, transactions and blocks of JSON-RPC, blobs of a beacon node, frames, and lists of these. Throws
 * DecodeError for anything else.
 */
export function inputsOfJson(json: unknown, source: string): DecodeInput[] {
  if (typeof json === 'string') return [{ source, bytes: fromHex(json, undefined, source) }]
  if (Array.isArray(json)) return json.flatMap((item, i) => inputsOfJson(item, `${source}[${i}]`))
  if (!isObject(json)) throw new DecodeError(`${source}: expected hex text, an object or a list`)
  if (json.result !== undefined) return inputsOfJson(json.result, source)
  const found: DecodeInput[] = []
  if (Array.isArray(json.transactions)) found.push(...transactionsOf(json.transactions, `${source}.transactions`))
  if (Array.isArray(json.blobs)) found.push(...blobsOf(json.blobs, `${source}.blobs`))
  if (Array.isArray(json.frames)) found.push(...inputsOfJson(json.frames, `${source}.frames`))
  if (found.length > 0) return found
  if (typeof json.blob === 'string') return blobsOf([json.blob], source)
  if (Array.isArray(json.data)) return blobsOf(json.data, `${source}.data`)
  const id = json.channelId ?? json.id
  if (typeof json.data === 'string' && isHex(id, 16)) return [frameOf(json, id, source)]
  const input = json.input ?? json.data
  if (typeof input !== 'string') throw new DecodeError(`${source}: expected a transaction, block, blob or frame`)
  const bytes = fromHex(input, undefined, `${source}.input`)
  return [{ source, bytes, kind: 'data', transaction: l1TransactionFromJson(json) }]
}

function transactionsOf(list: readonly unknown[], source: string): DecodeInput[] {
  return list.flatMap((item, i) => {
    // A transaction hash: the block was requested without its transactions.
    if (typeof item === 'string')
      throw new DecodeError(`${source}[${i}]: found a transaction hash, but the block must contain whole transactions`)
    return inputsOfJson(item, `${source}[${i}]`)
  })
}

/** Blobs as hex, or sidecars that hold them. */
function blobsOf(list: readonly unknown[], source: string): DecodeInput[] {
  return list.map((item, i) => {
    const place = list.length === 1 ? source : `${source}[${i}]`
    const text = isObject(item) ? item.blob : item
    if (typeof text !== 'string') throw new DecodeError(`${place}: expected a blob as hex`)
    return { source: place, bytes: fromHex(text, undefined, place), kind: 'blob' as const }
  })
}

/** Also accepts frames of op-node's batch decoder: `frame_number`, `is_last`, data in base64. */
function frameOf(json: JsonObject, channelId: `0x${string}`, source: string): DecodeInput {
  const number = Number(json.number ?? json.frame_number)
  const text = String(json.data)
  const data = text.startsWith('0x') ? fromHex(text, undefined, source) : new Uint8Array(Buffer.from(text, 'base64'))
  try {
    const bytes = encodeFrame({ channelId, number, data, isLast: (json.isLast ?? json.is_last) === true })
    return { source, bytes, kind: 'frame' }
  } catch (cause) {
    throw new DecodeError(`${source}: ${describeError(cause)}`, { cause })
  }
}

/** Whether all bytes are printable ASCII. Binary batcher data never is. */
function isText(content: Uint8Array): boolean {
  return content.every((byte) => (byte >= 0x20 && byte < 0x7f) || byte === 9 || byte === 10 || byte === 13)
}

async function readWhole(path: string): Promise<Uint8Array> {
  try {
    const { size } = await stat(path)
    if (size > MAX_INPUT_BYTES)
      throw new UsageError(`the file has ${size} bytes, more than the maximum of ${MAX_INPUT_BYTES}`)
    return new Uint8Array(await readFile(path))
  } catch (cause) {
    throw new UsageError(`cannot read ${path}: ${describeError(cause)}`, { cause })
  }
}

async function readStdin(): Promise<Uint8Array> {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of process.stdin) {
    const bytes = Buffer.from(part)
    length += bytes.length
    if (length > MAX_INPUT_BYTES) throw new UsageError(`stdin: more than ${MAX_INPUT_BYTES} bytes`)
    parts.push(bytes)
  }
  return new Uint8Array(Buffer.concat(parts))
}
