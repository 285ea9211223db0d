import { expect, it } from 'vitest'
import { EMPTY_BYTES } from '../bytes.ts'
import { ManualClock } from '../clock.ts'
import { silentLogger } from '../logger.ts'
import { nextTurn } from '../nextTurn.ts'
import { type Breakdown, type WorkJob, WorkPool, type WorkPoolLimits } from './workPool.ts'
import type { WorkProcess } from './workProcess.ts'

interface Task {
  id: number
}
type Job = WorkJob<Task, Task> & { name: string }

function startPool(limits: Partial<WorkPoolLimits>, signal?: AbortSignal) {
  const clock = new ManualClock()
  const waiting: Job[] = []
  const lost: [string, Breakdown][] = []
  const children: {
    sent: number[]
    isKilled: boolean
    load(): void
    end(): void
    disappear(): void
    answer(id: number): void
  }[] = []
  const startChild = (onAnswer: (answer: Task, bytes: Uint8Array) => void): WorkProcess<Task> => {
    const ready = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<string>()
    const gone = Promise.withResolvers<string>()
    const child = {
      sent: [] as number[],
      isKilled: false,
      load: ready.resolve,
      end: () => ended.resolve('ended with code 1'),
      disappear: () => gone.resolve('ended by SIGKILL'),
      answer: (id: number) => onAnswer({ id }, EMPTY_BYTES),
    }
    children.push(child)
    return {
      send: ({ id }) => void child.sent.push(id),
      keepAlive: () => {},
      kill() {
        child.isKilled = true
        return gone.promise
      },
      ready: ready.promise,
      ended: ended.promise,
    }
  }
  const queue = { take: () => waiting.shift(), putBack: (job: Job) => void waiting.push(job) }
  const pool = new WorkPool<Task, Task, Job>(
    { clock, logger: silentLogger, signal, queue, startChild },
    { work: 'is tested', loadingMs: 1_000, pauseMs: () => 100, ...limits },
  )
  const add = (...names: string[]): void => {
    for (const name of names) {
      waiting.push({
        name,
        bytes: EMPTY_BYTES,
        task: (id) => ({ id }),
        onAnswer: () => true,
        onLost: (how) => void lost.push([name, how]),
      })
    }
    pool.dispatch()
  }
  return { clock, children, lost, add, pool }
}

it('a process that does not load in time is replaced, and its jobs fail', async () => {
  const { clock, children, lost, add } = startPool({ tries: 2 })
  add('a')
  await clock.advance(1_000)
  expect([children[0]?.isKilled, lost]).toEqual([true, [['a', 'not-ready']]])
})

it('jobs of an ended process are restarted up to a limit', async () => {
  const { clock, children, lost, add } = startPool({ tries: 2 })
  add('a', 'b')
  children[0]?.end()
  await nextTurn()
  expect(children.map(({ sent }) => sent)).toEqual([
    [1, 2],
    [3, 4],
  ])
  children[1]?.end()
  await nextTurn()
  expect(lost).toEqual([
    ['a', 'ended'],
    ['b', 'ended'],
  ])
  add('c')
  expect(children).toHaveLength(2)
  await clock.advance(100)
  expect(children[2]?.sent).toEqual([5])
})

it('a process without answers is replaced after a time limit, even while it gets new jobs', async () => {
  const { clock, children, lost, add } = startPool({ stuckMs: 100 })
  add('a', 'b')
  children[0]?.load()
  await nextTurn()
  await clock.advance(99)
  children[0]?.answer(1)
  await clock.advance(99)
  add('c')
  await clock.advance(1)
  expect(lost).toEqual([
    ['b', 'stuck'],
    ['c', 'stuck'],
  ])
})

it('jobs wait until the process accepts more', async () => {
  const { children, add } = startPool({ jobsPerProcess: 2 })
  add('a', 'b', 'c')
  expect(children.map(({ sent }) => sent)).toEqual([[1, 2]])
  children[0]?.answer(2)
  expect(children.map(({ sent }) => sent)).toEqual([[1, 2, 3]])
})

it('is closed when its process is gone, also if a signal began to close it', async () => {
  const stop = new AbortController()
  const { children, lost, add, pool } = startPool({ jobsPerProcess: 1 }, stop.signal)
  add('a', 'b')
  stop.abort()
  let isClosed = false
  const closing = pool.close().then(() => {
    isClosed = true
  })
  await nextTurn()
  expect([children[0]?.isKilled, isClosed]).toEqual([true, false])
  children[0]?.disappear()
  await closing
  add('c')
  expect(lost).toEqual(['a', 'b', 'c'].map((name) => [name, 'closed']))
  expect(children).toHaveLength(1)
})
