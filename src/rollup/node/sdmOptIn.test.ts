import { expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { createLogger, silentLogger } from '../../lib/logger.ts'
import { loopTurns } from '../../lib/nextTurn.ts'
import { SdmOptIn, type SdmOptInOptions } from './sdmOptIn.ts'

const NOW = 1_700_000_000

function create(options: SdmOptInOptions = {}, { lagoon = NOW + 10, engine = async (_optIn: boolean) => true } = {}) {
  const sent: boolean[] = []
  const lines: string[] = []
  const clock = new ManualClock(NOW * 1000)
  const logger = createLogger({ level: 'warn', format: 'logfmt', color: false, write: (line) => lines.push(line) })
  const setSdmOptIn = (optIn: boolean) => {
    sent.push(optIn)
    return engine(optIn)
  }
  const sdm = new SdmOptIn({ engine: { setSdmOptIn }, clock, logger }, { forks: { lagoon } }, options)
  return { sdm, sent, lines, clock }
}

it('applies only with the opt-in and Lagoon', async () => {
  const { sdm } = create()
  expect(sdm.status()).toEqual({
    postExecOptIn: false,
    protocolActive: false,
    effective: false,
    activationTime: NOW + 10,
  })
  expect(sdm.status(NOW + 10)).toMatchObject({ protocolActive: true, effective: false })
  await sdm.set(true)
  expect(sdm.status()).toMatchObject({ postExecOptIn: true, effective: false })
  expect(sdm.status(NOW + 10)).toMatchObject({ postExecOptIn: true, effective: true })
})

it('has no activation time if Lagoon is not scheduled', () => {
  const { clock } = create()
  const modules = { engine: { setSdmOptIn: async () => true }, clock, logger: silentLogger }
  expect(new SdmOptIn(modules, { forks: {} }, {}).status()).toEqual({
    postExecOptIn: false,
    protocolActive: false,
    effective: false,
  })
})

it('is sent to the engine first, then recorded', async () => {
  const recorded: boolean[] = []
  let isAway = false
  const engine = async () => {
    if (isAway) throw new Error('connect ECONNREFUSED')
    return true
  }
  const onChange = async (optIn: boolean) => void recorded.push(optIn)
  const { sdm, sent } = create({ onChange }, { engine })
  await sdm.set(true)
  isAway = true
  await expect(sdm.set(false)).rejects.toThrow('ECONNREFUSED')
  expect([sent, recorded]).toEqual([[true, false], [true]])
  expect(sdm.status().postExecOptIn).toBe(true)
})

it('is undone at the engine when it cannot be recorded', async () => {
  const { sdm, sent } = create({ onChange: () => Promise.reject(new Error('disk full')) })
  await expect(sdm.set(true)).rejects.toThrow('disk full')
  expect(sent).toEqual([true, false])
  expect(sdm.status().postExecOptIn).toBe(false)
})

it('is repeated after a restart of the node or of the engine', async () => {
  let failures = 1
  const engine = async () => {
    if (failures-- > 0) throw new Error('connect ECONNREFUSED')
    return true
  }
  const { sdm, sent, clock } = create({ optIn: true }, { engine })
  const stop = new AbortController()
  const running = sdm.run(stop.signal)
  await loopTurns(5)
  expect(sent).toEqual([true])
  await clock.advance(60_000)
  await loopTurns(5)
  expect(sent).toEqual([true, true])
  await sdm.set(false)
  await clock.advance(120_000)
  await loopTurns(5)
  expect(sent).toEqual([true, true, false])
  stop.abort()
  await running
})

it('warns once that the engine lacks the method, and keeps the opt-in', async () => {
  const { sdm, lines } = create({}, { engine: async () => false })
  await sdm.set(true)
  await sdm.set(true)
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('The engine has no admin_setSdmPostExecOptIn')
  expect(sdm.status().postExecOptIn).toBe(true)
})
