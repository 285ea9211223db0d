import { concatBytes } from '../../lib/bytes.ts'
import type { Clock } from '../../lib/clock.ts'
import { toHex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import { whenAborted } from '../../lib/untilAborted.ts'
import { programFile } from '../../lib/workProcess/programFile.ts'
import { startWorkProcess, type WorkProcess } from '../../lib/workProcess/workProcess.ts'
import { Batch, type SendersAhead } from './sendersAhead.ts'
import { ADDRESS_BYTES, type SenderAnswer, type SenderTask } from './senderTask.ts'

/** Transactions of one task: 1 to 2 ms of work. */
const TASK_TRANSACTIONS = 32
const TASK_BYTES = 256 * 1024
/** Tasks on their way, so that the process has work while this one's event loop does not turn. */
const MAX_TASKS = 6
/** For fewer transactions in all no process is started: it takes a third of a second of its core. */
const START_TRANSACTIONS = 128
/** For fewer in a block that is decoded at once, this one is done before the other is well at work. */
const SHARED_TRANSACTIONS = 128
/** A process that had nothing to do for so long ends. */
const IDLE_MS = 60_000
/** After it broke down, none is started for so long. */
const PAUSE_MS = 60_000

/** Recovers senders of transactions on another core, before they are asked for. Nothing waits for it. */
export interface SenderRecovery {
  /** For a block that is decoded later. Disposing of what it returns takes back what was not begun. */
  begin(encodings: readonly Uint8Array[]): SendersAhead & Disposable
  /** For a block that is decoded at once: undefined where it has too few transactions for two to work on it. */
  beginNow(encodings: readonly Uint8Array[]): (SendersAhead & Disposable) | undefined
  /** Senders that were recovered, and processes that broke down. */
  stats(): { recovered: number; broken: number }
  close(): Promise<void>
}

export interface SenderRecoveryModules {
  clock: Clock
  logger: Logger
  /** Closes it. */
  signal?: AbortSignal | undefined
}

export interface SenderRecoveryOptions {
  /** For tests: another program in the process's place. */
  file?: URL
}

interface Worker {
  process: WorkProcess<SenderTask>
  isReady: boolean
  tasks: Map<number, { batch: Batch; index: number }[]>
}

/** The process starts when there is work that is worth it. Why it is no thread: `WorkProcess`. */
export function createSenderRecovery(
  { clock, logger, signal }: SenderRecoveryModules,
  { file = OWN_FILE }: SenderRecoveryOptions = {},
): SenderRecovery {
  const batches = new Set<Batch>()
  let worker: Worker | undefined
  let cancelIdle = (): void => {}
  let notBefore = 0
  let ids = 0
  let recovered = 0
  let broken = 0
  let closed = false

  const start = (): Worker => {
    cancelIdle()
    const started: Worker = {
      isReady: false,
      tasks: new Map(),
      process: startWorkProcess<SenderTask, SenderAnswer>(file, (answer, bytes) => onAnswer(started, answer, bytes)),
    }
    void started.process.ready.then(() => {
      started.isReady = true
      dispatch()
    })
    void started.process.ended.then((why) => {
      if (worker !== started || closed) return
      worker = undefined
      broken += 1
      notBefore = clock.now() + PAUSE_MS
      logger.warn('The process that recovers senders broke down: they are recovered here meanwhile', { why })
    })
    return started
  }

  const onAnswer = ({ tasks }: Worker, { id }: SenderAnswer, bytes: Uint8Array): void => {
    const task = tasks.get(id) ?? []
    tasks.delete(id)
    for (const [place, { batch, index }] of task.entries()) {
      const sender = bytes.subarray(place * ADDRESS_BYTES, (place + 1) * ADDRESS_BYTES)
      if (sender.every((byte) => byte === 0)) continue
      batch.found(index, toHex(sender))
      recovered += 1
    }
    dispatch()
  }

  const dispatch = (): void => {
    if (closed || worker === undefined || !worker.isReady) return
    while (worker.tasks.size < MAX_TASKS) {
      const task = nextTask()
      if (task.length === 0) break
      ids += 1
      worker.tasks.set(ids, task)
      const encodings = task.map(({ raw }) => raw)
      worker.process.send({ id: ids, lengths: encodings.map(({ length }) => length) }, concatBytes(...encodings))
    }
    cancelIdle()
    if (worker.tasks.size === 0) cancelIdle = clock.setTimeout(endWorker, IDLE_MS)
  }

  /** Of the oldest block first. */
  const nextTask = (): { batch: Batch; index: number; raw: Uint8Array }[] => {
    const task: { batch: Batch; index: number; raw: Uint8Array }[] = []
    let bytes = 0
    for (const batch of batches) {
      for (;;) {
        if (task.length === TASK_TRANSACTIONS || bytes >= TASK_BYTES) return task
        const next = batch.take()
        if (next === undefined) break
        task.push({ batch, ...next })
        bytes += next.raw.length
      }
      batches.delete(batch)
    }
    return task
  }

  const endWorker = (): void => {
    void worker?.process.kill()
    worker = undefined
  }

  const begin = (encodings: readonly Uint8Array[]): SendersAhead & Disposable => {
    const batch = new Batch(encodings)
    if (!closed) batches.add(batch)
    if (worker === undefined && !closed && clock.now() >= notBefore) {
      let waiting = 0
      for (const { left } of batches) waiting += left
      if (waiting >= START_TRANSACTIONS) worker = start()
    }
    dispatch()
    return {
      senderOf: (index) => batch.senderOf(index),
      [Symbol.dispose]() {
        batch.end()
        batches.delete(batch)
      },
    }
  }

  const close = async (): Promise<void> => {
    closed = true
    batches.clear()
    cancelIdle()
    await worker?.process.kill()
  }
  whenAborted(signal, () => void close())

  return {
    begin,
    beginNow: (encodings) => (encodings.length < SHARED_TRANSACTIONS ? undefined : begin(encodings)),
    stats: () => ({ recovered, broken }),
    close,
  }
}

const OWN_FILE = programFile('sendersMain', import.meta.url)
