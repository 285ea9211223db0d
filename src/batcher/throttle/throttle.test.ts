import { describe, expect, it, onTestFinished } from 'vitest'
import { createRpcApp, serveApp } from '../../jsonRpc/httpServer.ts'
import { createRpcDispatcher, type RpcHandler } from '../../jsonRpc/server.ts'
import { createPatientClient } from '../../jsonRpc/testUtils/patientClient.ts'
import { JsonRpcError, type JsonValue } from '../../jsonRpc/types.ts'
import { ManualClock } from '../../lib/clock.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { until } from '../../lib/testUtils/until.ts'
import { createLogRecorder } from '../testUtils/logRecorder.ts'
import { DEFAULT_THROTTLE } from '../testUtils/submitterSetup.ts'
import { checkThrottleOptions, ThrottleController, type ThrottleOptions } from './controller.ts'
import { Throttler } from './throttler.ts'

const options: ThrottleOptions = { ...DEFAULT_THROTTLE, lowerThreshold: 1_000, upperThreshold: 3_000 }

describe('throttle limits', () => {
  it.each([
    { type: 'step', load: 1_000, intensity: 0, tx: 0, block: 130_000 },
    { type: 'step', load: 1_001, intensity: 1, tx: 150, block: 2_000 },
    { type: 'linear', load: 2_000, intensity: 0.5, tx: 10_075, block: 66_000 },
    { type: 'quadratic', load: 2_000, intensity: 0.25, tx: 15_038, block: 98_000 },
    { type: 'quadratic', load: 99_000, intensity: 1, tx: 150, block: 2_000 },
  ] as const)('of $type at $load bytes', ({ type, load, intensity, tx, block }) => {
    expect(new ThrottleController({ ...options, type }).limits(load, 0)).toEqual({
      intensity,
      maxTxBytes: tx,
      maxBlockBytes: block,
    })
  })

  it('are off if the lower limit is 0', () => {
    const controller = new ThrottleController({ ...options, type: 'step', txSizeLowerLimit: 0 })
    expect(controller.limits(5_000, 0)).toMatchObject({ maxTxBytes: 0, maxBlockBytes: 2_000 })
  })

  it('of a PID controller tighten while the load stays, and are reset when it ends', () => {
    const controller = new ThrottleController({ ...options, type: 'pid' })
    // Excess 1: 0.33 and 0.01 a second of it.
    expect(controller.limits(2_000, 0).intensity).toBeCloseTo(0.35)
    expect(controller.limits(2_000, 1_000).intensity).toBeCloseTo(0.35)
    expect(controller.limits(2_000, 2_000).intensity).toBeCloseTo(0.37)
    expect(controller.limits(4_000, 4_000).intensity).toBe(1)
    expect(controller.pidTerms).toEqual({ error: 3, integral: 10, derivative: 1 })
    expect(controller.limits(1_000, 6_000).intensity).toBe(0)
    expect(controller.limits(2_000, 8_000).intensity).toBeCloseTo(0.35)
  })

  it.each([
    { change: { upperThreshold: 1_000 }, named: ['--throttle.unsafe-da-bytes-upper-threshold', 1_000] },
    { change: { blockSizeLowerLimit: 130_000 }, named: ['--throttle.block-size-lower-limit'] },
    { change: { txSizeLowerLimit: 20_000 }, named: ['--throttle.tx-size-lower-limit'] },
    { change: { pid: { ...options.pid, kd: -1 } }, named: ['Kd'] },
    { change: { pid: { ...options.pid, integralMax: 0 } }, named: ['IntegralMax', 0] },
    { change: { pid: { ...options.pid, outputMax: 0 } }, named: ['OutputMax', 0] },
    { change: { pid: { ...options.pid, outputMax: 1.1 } }, named: ['OutputMax', 1.1] },
  ])('are refused if they contradict each other or switch throttling off: $named.0', ({ change, named }) => {
    expect(() => checkThrottleOptions({ ...options, ...change })).toThrow(errorWith('usage', ...named))
    expect(() => checkThrottleOptions({ ...options, ...change, lowerThreshold: 0 })).not.toThrow()
  })
})

describe('block builders', () => {
  async function serve(
    answer: (params: readonly (JsonValue | undefined)[]) => JsonValue,
    method = 'miner_setMaxDASize',
  ) {
    const methods = new Map<string, RpcHandler>([[method, (params) => answer(params)]])
    const server = await serveApp(
      createRpcApp({ dispatcher: createRpcDispatcher({ methods }) }),
      '127.0.0.1',
      0,
      'test',
    )
    const client = createPatientClient({ url: server.url })
    onTestFinished(async () => {
      await client.close()
      await server.close()
    })
    return client
  }

  it('receive the limits, also after a failure, and a failing builder does not delay the others', async () => {
    const sent: JsonValue[][] = [[], []]
    let answer: JsonValue = false
    const clock = new ManualClock()
    const log = createLogRecorder()
    const limits: unknown[] = []
    const builders = [
      await serve((params) => {
        sent[0]?.push(params as JsonValue)
        return answer
      }),
      await serve((params) => {
        sent[1]?.push(params as JsonValue)
        return true
      }),
      await serve(() => true, 'eth_chainId'),
    ]
    const metrics = { throttle: (_type: string, now: unknown) => limits.push(now) }
    const throttler = new Throttler(
      { builders, clock, logger: log.logger, metrics },
      { ...options, type: 'step' },
      5_000,
    )
    throttler.update(500)
    await until(() => sent[0]?.length === 1 && sent[1]?.length === 1)
    expect(sent).toEqual([[['0x0', '0x1fbd0']], [['0x0', '0x1fbd0']]])
    expect(throttler.isThrottling).toBe(false)
    await log.seen('Block builder is not throttled: it refuses miner_setMaxDASize. Enable its miner namespace')
    await until(() => log.lines.some(({ msg }) => msg.startsWith('Failed to throttle')))

    throttler.update(5_000)
    expect(throttler.isThrottling).toBe(true)
    expect(throttler.status).toMatchObject({ type: 'step', current_load: 5_000, intensity: 1, max_tx_size: 150 })
    await until(() => sent[1]?.length === 2)
    expect(sent[1]?.[1]).toEqual(['0x96', '0x7d0'])
    await until(() => sent[0]?.length === 2)
    answer = true
    // Its failure may be known only after the first update.
    await until(() => {
      throttler.update(5_000)
      return (sent[0]?.length ?? 0) > 2
    })
    expect(sent[0]?.at(-1)).toEqual(['0x96', '0x7d0'])
    expect(limits.at(-1)).toMatchObject({ maxTxBytes: 150, maxBlockBytes: 2_000 })
    throttler.stop()
  })

  it('that refuse the method receive the request again after a minute', async () => {
    const clock = new ManualClock()
    const log = createLogRecorder()
    let calls = 0
    const answers = [new JsonRpcError(-32603, 'Internal error'), new JsonRpcError(-32601, 'not found'), true]
    const request = async () => {
      const answer = answers[calls++] ?? true
      if (answer instanceof JsonRpcError) throw answer
      return answer
    }
    const builders = [{ url: 'http://builder', request }]
    const modules = { builders, clock, logger: log.logger, metrics: { throttle: () => {} } }
    const throttler = new Throttler(modules, options, 5_000)
    const callsAfter = async (waitMs: number, loadBytes: number) => {
      await clock.advance(waitMs)
      throttler.update(loadBytes)
      await clock.advance(0)
      return calls
    }
    expect(await callsAfter(0, 2_000)).toBe(1)
    expect(await callsAfter(59_999, 2_100)).toBe(1)
    expect(await callsAfter(1, 2_200)).toBe(2)
    expect(await callsAfter(60_000, 2_300)).toBe(3)
    expect(await callsAfter(1, 2_400)).toBe(4)
    expect(log.lines.filter(({ lvl, endpoint }) => lvl === 'warn' && endpoint !== undefined)).toHaveLength(1)
    throttler.stop()
  })

  it('receive the request again at the next update after a failure, but not before', async () => {
    let faults = 1
    let calls = 0
    const builder = await serve(() => {
      calls++
      if (faults-- > 0) throw new JsonRpcError(-32000, 'not ready')
      return true
    })
    const clock = new ManualClock()
    const log = createLogRecorder()
    const modules = { builders: [builder], clock, logger: log.logger, metrics: { throttle: () => {} } }
    const throttler = new Throttler(modules, options, 5_000)
    throttler.update(0)
    await until(() => log.lines.some(({ msg }) => msg.startsWith('Failed to throttle')))
    await clock.advance(600_000)
    expect(calls).toBe(1)
    throttler.update(0)
    await until(() => calls === 2)
    throttler.stop()
  })
})
