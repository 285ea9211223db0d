import { checkTransactions } from '../../rollup/protocol/payloadSsz.ts'
import { type Inspection, inspectMessage, type Question } from './inspection.ts'
import { identifyMessage, type UnpackFault, unpackMessage } from './messageId.ts'

// What the thread for large messages does. It answers a task twice: with the message's ids and, if it could be unpacked,
// with what it says.

export interface Task {
  task: number
  topic: string
  compressed: Uint8Array
  question: Question
}

export type Answer =
  | { task: number; id: Uint8Array; idWithoutTopic: Uint8Array | undefined; unpacked: { ok: true } | UnpackFault }
  | { task: number; inspection: Inspection; message: Uint8Array }
  | { task: number; failure: string }

/** Sends an answer and the buffers that go over with it. */
export type Answering = (answer: Answer, transfer: ArrayBufferLike[]) => void

/** The message's transactions do not travel one by one, but with its bytes, in which they stand. */
function work({ task, topic, compressed, question }: Task, answer: Answering): void {
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

export function runTask(task: Task, answer: Answering): void {
  try {
    work(task, answer)
  } catch (error) {
    answer({ task: task.task, failure: error instanceof Error ? error.message : String(error) }, [])
  }
}
