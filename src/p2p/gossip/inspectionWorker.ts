import { parentPort } from 'node:worker_threads'
import { runTask, type Task } from './inspectionTask.ts'

// The thread on which large messages are unpacked, named and inspected.

parentPort?.on('message', (task: Task) => {
  runTask(task, (answer, transfer) => {
    parentPort?.postMessage(
      answer,
      transfer.filter((buffer) => buffer instanceof ArrayBuffer),
    )
  })
})
