import type { Hex } from '../../../lib/hex.ts'
import { toHex } from '../../../lib/hex.ts'
import { bareFramesOf, decodeBlob, type Frame, framesOf } from '../../../rollup/protocol/index.ts'
import { type BatchJson, type BatchOptions, describeBatch, withSpanType } from './batches.ts'
import { readChannel } from './channelContent.ts'
import { type JoinedChannel, joinChannels } from './channels.ts'
import { type Fault, faultOf } from './fault.ts'
import type { DecodeInput } from './input.ts'
import { detectKind, KIND_HELP, type Kind } from './kinds.ts'
import { type L1TransactionJson, readL1Transaction } from './l1Transaction.ts'

/** The result for all inputs together. */
export interface Decoded {
  inputs: InputJson[]
  channels: ChannelJson[]
  /** Inputs that are batches without a channel. */
  batches: (BatchJson & { source: string })[]
  faults: number
}

export interface InputJson {
  source: string
  kind: Kind | null
  bytes: number
  transaction?: L1TransactionJson
  /** Bytes of data in a blob. */
  dataBytes?: number
  frames?: { byte: number; channelId: Hex; number: number; dataBytes: number; isLast: boolean }[]
  /** Why there is nothing to decode. */
  note?: string
  fault: Fault | null
}

export interface ChannelJson {
  /** null for data of a channel that came without frames. */
  id: Hex | null
  source?: string
  frames?: number[]
  missingFrames?: number[]
  refusedFrames?: string[]
  isComplete: boolean
  bytes: number
  compression: 'zlib' | 'brotli' | null
  decompressedBytes: number
  /** Compressed size divided by decompressed size. */
  ratio: number | null
  blockCount: number
  transactionCount: number
  batches: BatchJson[]
  fault: Fault | null
}

export interface DecodeOptions extends BatchOptions {
  /** The kind of every input; by default it is detected for each. */
  as?: Kind
}

/** Decodes all inputs and joins their frames to channels. Malformed input is reported as faults; this never throws. */
export async function decodeInputs(inputs: readonly DecodeInput[], options: DecodeOptions): Promise<Decoded> {
  const work = new Decoding(options)
  for (const input of inputs) await work.add(input)
  return work.finish(inputs.some(({ kind }) => kind === 'blob'))
}

class Decoding {
  private readonly options: DecodeOptions
  private readonly inputs: InputJson[] = []
  private readonly frames: Frame[] = []
  private readonly channels: ChannelJson[] = []
  private readonly batches: Decoded['batches'] = []

  constructor(options: DecodeOptions) {
    this.options = options
  }

  async add(input: DecodeInput): Promise<void> {
    const { bytes, source } = input
    const kind = this.options.as ?? input.kind ?? (await detectKind(bytes, this.options.config))
    const base = { source, kind: kind ?? null, bytes: bytes.length }
    const { transaction } = input
    switch (kind) {
      case undefined:
        this.inputs.push({ ...base, fault: unknownKind(bytes) })
        return
      case 'transaction':
        return this.addTransaction(bytes, base)
      case 'data':
        if (transaction?.blobVersionedHashes !== undefined) {
          // The calldata of a blob transaction has no meaning for derivation.
          this.inputs.push({ ...base, transaction, note: blobNote(transaction), fault: null })
          return
        }
        return this.addFrames(base, bytes, 'input', transaction === undefined ? {} : { transaction })
      case 'blob':
        return this.addBlob(bytes, base)
      case 'frame':
        return this.addFrames(base, bytes, 'input')
      case 'channel':
        this.inputs.push({ ...base, fault: null })
        this.channels.push({ id: null, source, ...(await this.channel(bytes, true)) })
        return
      case 'batch': {
        const isTyped = bytes[0] === 0 || bytes[0] === 1
        const found = describeBatch(bytes, this.options)
        const bare = found.fault === null ? undefined : describeBatch(withSpanType(bytes), this.options)
        const isBare = bare?.fault === null || !isTyped
        this.inputs.push({
          ...base,
          ...(isBare ? { note: 'decoded as a span batch without its type byte' } : {}),
          fault: null,
        })
        this.batches.push({ source, ...(isBare ? (bare ?? found) : found) })
      }
    }
  }

  async finish(hasBlobs: boolean): Promise<Decoded> {
    for (const joined of joinChannels(this.frames)) {
      const content = await this.channel(joined.data, joined.isComplete)
      this.channels.push({ id: joined.id, ...frameNumbers(joined), ...content })
    }
    const inputs = hasBlobs ? this.inputs.map(({ note: _, ...input }) => input) : this.inputs
    const faults = [
      ...inputs,
      ...this.channels,
      ...this.channels.flatMap(({ batches }) => batches),
      ...this.batches,
    ].filter(({ fault }) => fault !== null).length
    return { inputs, channels: this.channels, batches: this.batches, faults }
  }

  private async addTransaction(bytes: Uint8Array, base: Base): Promise<void> {
    try {
      const { transaction, input, blobs } = readL1Transaction(bytes)
      if (transaction.blobVersionedHashes === undefined) {
        return this.addFrames(base, input, 'calldata', { transaction })
      }
      this.inputs.push({
        ...base,
        transaction,
        ...(blobs.length === 0 ? { note: blobNote(transaction) } : {}),
        fault: null,
      })
      blobs.forEach((blob, i) => {
        this.addBlob(blob, { source: `${base.source}, blob ${i}`, kind: 'blob', bytes: blob.length })
      })
    } catch (error) {
      this.inputs.push({ ...base, fault: faultOf(error, { in: 'input', effect: 'no L1 block can contain it' }) })
    }
  }

  private addBlob(bytes: Uint8Array, base: Base): void {
    try {
      const data = decodeBlob(bytes)
      this.addFrames(base, data, 'blob data', { dataBytes: data.length })
    } catch (error) {
      this.inputs.push({ ...base, fault: faultOf(error, { in: 'blob', effect: 'derivation skips this blob' }) })
    }
  }

  private addFrames(base: Base, bytes: Uint8Array, place: string, more: Partial<InputJson> = {}): void {
    const frames: Frame[] = []
    let fault: Fault | null = null
    try {
      for (const frame of base.kind === 'frame' ? bareFramesOf(bytes) : framesOf(bytes)) frames.push(frame)
      this.frames.push(...frames)
    } catch (error) {
      // As in derivation, a fault discards all frames of the transaction. The readable frames are shown.
      fault = faultOf(error, { in: place, effect: 'derivation ignores every frame of this transaction or blob' })
    }
    const shown = frames.map(({ channelId, number, data, isLast }) => ({
      byte: data.byteOffset - bytes.byteOffset - FRAME_HEADER_BYTES,
      ...{ channelId, number, dataBytes: data.length, isLast },
    }))
    this.inputs.push({ ...base, ...more, frames: shown, fault })
  }

  private async channel(data: Uint8Array, isComplete: boolean): Promise<Omit<ChannelJson, 'id'>> {
    const isThere = isComplete || data.length > 0
    const content = isThere ? await readChannel(data, this.options.config) : undefined
    const batches = (content?.batches ?? []).map(({ byte, bytes }) => ({ byte, ...describeBatch(bytes, this.options) }))
    const size = content?.decompressed.length ?? 0
    return {
      isComplete,
      bytes: data.length,
      compression: content?.compression ?? null,
      decompressedBytes: size,
      ratio: size === 0 ? null : Math.round((data.length / size) * 1000) / 1000,
      blockCount: batches.reduce((sum, batch) => sum + (batch.blockCount ?? 0), 0),
      transactionCount: batches.reduce((sum, batch) => sum + (batch.transactionCount ?? 0), 0),
      batches,
      // An end that is cut off because frames are missing is not a fault of the channel.
      fault: isComplete || content?.compression === null ? (content?.fault ?? null) : null,
    }
  }
}

/** Channel id, frame number and data length. */
const FRAME_HEADER_BYTES = 22

type Base = Pick<InputJson, 'source' | 'kind' | 'bytes'>

function frameNumbers({ frames, missing, refused }: JoinedChannel): Partial<ChannelJson> {
  return {
    frames: frames.map(({ number }) => number),
    ...(missing.length === 0 ? {} : { missingFrames: missing }),
    ...(refused.length === 0 ? {} : { refusedFrames: refused }),
  }
}

function blobNote({ blobVersionedHashes: hashes = [] }: L1TransactionJson): string {
  return `its frames are in ${hashes.length} ${hashes.length === 1 ? 'blob' : 'blobs'}, and the transaction does not contain them. Add the blobs as inputs, or give the transaction hash with --l1 and --l1.beacon`
}

function unknownKind(bytes: Uint8Array): Fault {
  const kinds = Object.values(KIND_HELP).join('; ')
  const beginning = toHex(bytes.subarray(0, 8))
  return {
    byte: 0,
    in: 'input',
    rule: `${beginning}${bytes.length > 8 ? '…' : ''} is not the beginning of any of: ${kinds} (--as forces a kind)`,
    effect: 'derivation ignores it',
  }
}
