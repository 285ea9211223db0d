import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../lib/clock.ts'
import { silentLogger } from '../lib/logger.ts'
import { errorWith } from '../lib/testUtils/errorWith.ts'
import { DEFAULT_P2P_OPTIONS } from './base/options.ts'
import { createLifecycle, type Part } from './lifecycle.ts'
import { createP2pNode } from './node.ts'
import { testChain, testConfig } from './testUtils/testChain.ts'

function setUp() {
  const steps: string[] = []
  const started = Promise.withResolvers<void>()
  const first: Part = {
    async start() {
      steps.push('starting')
      await started.promise
      steps.push('started')
    },
    async stop() {
      await new Promise(setImmediate)
      steps.push('stopped')
    },
  }
  const second: Part = {
    stop() {
      steps.push('stopping')
      throw new Error('broken')
    },
  }
  const lifecycle = createLifecycle([first, second], ({ message }: Error) => steps.push(message))
  return { lifecycle, steps, started }
}

describe('createLifecycle', () => {
  it('stop() waits for a start in progress and runs once, and every call waits for it', async () => {
    const { lifecycle, steps, started } = setUp()
    const starting = lifecycle.start()
    expect(lifecycle.isRunning()).toBe(true)
    const stops = [lifecycle.stop(), lifecycle.stop()]
    expect(lifecycle.isRunning()).toBe(false)
    started.resolve()
    for (const stop of stops) {
      await stop
      expect(steps).toEqual(['starting', 'started', 'stopping', 'broken', 'stopped'])
    }
    await starting
  })

  it('undoes a start that fails, and rejects with the cause', async () => {
    const { lifecycle, steps, started } = setUp()
    const starting = lifecycle.start()
    started.reject(new Error('no port'))
    await expect(starting).rejects.toThrow('no port')
    expect(steps).toEqual(['starting', 'stopping', 'broken', 'stopped'])
    await lifecycle.stop()
    expect(steps).toHaveLength(4)
  })

  it('refuses a second start, and a start after a stop', async () => {
    const { lifecycle, steps, started } = setUp()
    started.resolve()
    await lifecycle.start()
    await expect(lifecycle.start()).rejects.toThrow(errorWith('not-running'))
    await lifecycle.stop()
    await expect(lifecycle.start()).rejects.toThrow(errorWith('not-running'))
    expect(steps).toEqual(['starting', 'started', 'stopping', 'broken', 'stopped'])
  })
})

it('a node stopped during its start no longer listens', async () => {
  const node = await createP2pNode(
    { logger: silentLogger, clock: systemClock, registry: new Registry(), chain: testChain(testConfig()) },
    {
      ...DEFAULT_P2P_OPTIONS,
      privateKey: new Uint8Array(32).fill(7),
      listenIp: '127.0.0.1',
      listenTcpPort: 0,
      peerStorePath: 'memory',
    },
  )
  await Promise.all([node.start(), node.stop()])
  expect(node.multiaddrs()).toEqual([])
})
