import { DecodeError, describeError } from '../../lib/errors.ts'
import { checkTransactions, type PayloadVersion } from '../../rollup/protocol/payload/payloadSsz.ts'
import { type Inspection, inspectMessage, type ValidationContext } from './inspection.ts'
import { messageId, type UnpackFault, unpackMessage } from './messageId.ts'
import { type UnpackedBlock, unpackBlock } from './unpackBlock.ts'

// The work of the process for large messages. A gossip message gets two answers: its id and, if it decompresses, its
// inspection. A block of a peer's answer gets one.

/** A gossip message (its compressed bytes follow), or a block in snappy frames (the frames follow). */
export type Work = { topic: string; context: ValidationContext } | { version: PayloadVersion }

export type Task = Work & { id: number }

export type Answer =
  | { id: number; messageId: Uint8Array; unpacked: { ok: true } | UnpackFault }
  /**
   * If the inspection succeeds, the uncompressed message follows. The transactions are not copied one by one but stay
   * inside the message.
   */
  | { id: number; inspection: Inspection }
  /** The block's body follows, with the transactions inside it. */
  | { id: number; block: Omit<UnpackedBlock, 'body'> }
  | { id: number; undecodable: string }
  | { id: number; failure: string }

export type Answering = (answer: Answer, bytes?: Uint8Array) => void

type Inspecting = Extract<Task, { topic: string }>

function inspect({ id, topic, context }: Inspecting, compressed: Uint8Array, answer: Answering): void {
  const unpacked = unpackMessage(compressed)
  const identified = { id, messageId: messageId(topic, compressed, unpacked) }
  if (!unpacked.ok) {
    answer({ ...identified, unpacked })
    return
  }
  answer({ ...identified, unpacked: { ok: true } })
  const inspection = inspectMessage(unpacked.data, context, checkTransactions)
  if (inspection.stop === 'none') answer({ id, inspection }, unpacked.data)
  else answer({ id, inspection })
}

function unpack(id: number, version: PayloadVersion, frames: Uint8Array, answer: Answering): void {
  let block: UnpackedBlock
  try {
    block = unpackBlock({ frames, version }, checkTransactions)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    answer({ id, undecodable: describeError(error) })
    return
  }
  const { body, ...rest } = block
  answer({ id, block: rest }, body)
}

export function runTask(work: Task, bytes: Uint8Array, answer: Answering): void {
  const { id } = work
  try {
    if ('version' in work) unpack(id, work.version, bytes, answer)
    else inspect(work, bytes, answer)
  } catch (error) {
    answer({ id, failure: error instanceof Error ? error.message : String(error) })
  }
}
