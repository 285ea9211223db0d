import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

/** Functions that run in another process. Arguments and results are plain data. */
export type Calls = { [name: string]: (argument: never) => unknown }

interface Question {
  id: number
  name: string
  argument: unknown
}
interface Answer {
  id: number
  result?: unknown
  error?: string
}

/** In the child: runs the parent's calls in sequence, until the parent disconnects. */
export function answerCalls(calls: { [name: string]: (argument: never) => unknown }): void {
  let last: Promise<unknown> = Promise.resolve()
  process.on('message', ({ id, name, argument }: Question) => {
    last = last.then(async () => {
      const answer: Answer = { id }
      try {
        const call = calls[name]
        if (call === undefined) throw new Error(`no function ${name}`)
        answer.result = await call(argument as never)
      } catch (error) {
        answer.error = error instanceof Error ? (error.stack ?? error.message) : String(error)
      }
      process.send?.(answer)
    })
  })
  process.on('disconnect', () => process.exit(0))
}

export interface Child<C extends Calls> {
  call<N extends keyof C & string>(name: N, ...argument: Parameters<C[N]>): Promise<Awaited<ReturnType<C[N]>>>
  stop(): Promise<void>
}

export function startChild<C extends Calls>(module: URL): Child<C> {
  const child: ChildProcess = fork(module, {
    execArgv: [
      '--disable-warning=ExperimentalWarning',
      '--expose-gc',
      // The flags that bin/launch.mjs gives a rollup node.
      '--heap-growing-percent=100',
      '--external-memory-accounted-in-global-limit',
      ...(process.env.BENCH_NODE_FLAGS?.split(' ') ?? []),
    ],
  })
  const pending = new Map<number, { resolve(value: never): void; reject(error: Error): void }>()
  let serial = 0
  child.on('message', ({ id, result, error }: Answer) => {
    const call = pending.get(id)
    pending.delete(id)
    if (error === undefined) call?.resolve(result as never)
    else call?.reject(new Error(error))
  })
  child.on('exit', (code) => {
    for (const { reject } of pending.values()) reject(new Error(`the process ended with ${code}`))
  })
  return {
    call(name, ...[argument]) {
      serial += 1
      const question: Question = { id: serial, name, argument }
      return new Promise((resolve, reject) => {
        pending.set(question.id, { resolve, reject })
        child.send(question)
      })
    },
    async stop() {
      if (child.exitCode !== null) return
      child.disconnect()
      await once(child, 'exit')
    },
  }
}
