import { parentPort, workerData } from 'node:worker_threads'
import { adoptKernelModule } from '../../lib/wasm/kernel.ts'
import { END, runTask, type Task, type ThreadData } from './inspectionTask.ts'

// The thread on which large messages are unpacked, named and inspected.

const { kernel }: ThreadData = workerData
if (kernel !== undefined) adoptKernelModule(kernel)

parentPort?.on('message', (task: Task | typeof END) => {
  if (task === END) {
    parentPort?.close()
    return
  }
  runTask(task, (answer, transfer) => {
    parentPort?.postMessage(
      answer,
      transfer.filter((buffer) => buffer instanceof ArrayBuffer),
    )
  })
})
