import { DecodeError } from '../../lib/errors.ts'
import { checkTransactions } from '../../rollup/protocol/payloadSsz.ts'
import { type FramedBlock, type UnpackedBlock, unpackBlock } from '../sync/unpackBlock.ts'
import { type Inspection, inspectMessage, type Question } from './inspection.ts'
import { identifyMessage, type UnpackFault, unpackMessage } from './messageId.ts'

// What the thread for large messages does. A gossip message it answers twice: with its ids and, if it could be unpacked,
// with what it says. The block of a peer's answer it answers once.

export interface MessageWork {
  topic: string
  compressed: Uint8Array
  question: Question
}

export type Work = MessageWork | { block: FramedBlock }

/** What the thread is started with. */
export interface ThreadData {
  kernel: WebAssembly.Module | undefined
}

/** Has the thread end when it has done what it is at. */
export const END = 'end'

export type Task = Work & { task: number }

export type Answer =
  | { task: number; id: Uint8Array; idWithoutTopic: Uint8Array | undefined; unpacked: { ok: true } | UnpackFault }
  | { task: number; inspection: Inspection; message: Uint8Array }
  /** Without its transactions, which stand in its body. */
  | { task: number; block: UnpackedBlock }
  | { task: number; undecodable: string }
  | { task: number; failure: string }

/** Sends an answer and the buffers that go over with it. */
export type Answering = (answer: Answer, transfer: ArrayBufferLike[]) => void

/** The message's transactions do not travel one by one, but with its bytes, in which they stand. */
function inspect({ task, topic, compressed, question }: MessageWork & { task: number }, answer: Answering): void {
  const unpacked = unpackMessage(compressed)
  const { id, idWithoutTopic } = identifyMessage(topic, compressed, unpacked)
  if (!unpacked.ok) {
    answer({ task, id, idWithoutTopic, unpacked }, [])
    return
  }
  const message = unpacked.data
  answer({ task, id, idWithoutTopic, unpacked: { ok: true } }, [])
  const inspection = inspectMessage(message, question, checkTransactions)
  // Short ones share a buffer, which stays.
  const own = message.length === message.buffer.byteLength ? [message.buffer] : []
  if (inspection.stop === 'none') answer({ task, inspection, message }, own)
  else answer({ task, inspection, message: new Uint8Array(0) }, [])
}

function unpack(task: number, framed: FramedBlock, answer: Answering): void {
  let block: UnpackedBlock
  try {
    block = unpackBlock(framed, checkTransactions)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    answer({ task, undecodable: error.message }, [])
    return
  }
  answer({ task, block }, [block.body.buffer])
}

export function runTask(task: Task, answer: Answering): void {
  try {
    if ('block' in task) unpack(task.task, task.block, answer)
    else inspect(task, answer)
  } catch (error) {
    answer({ task: task.task, failure: error instanceof Error ? error.message : String(error) }, [])
  }
}
