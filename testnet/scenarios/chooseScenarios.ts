import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import { type FlagSpec, flagKey } from '../../src/cli/shared/flags.ts'
import { describeError, UsageError } from '../../src/lib/errors.ts'
import { unknownName } from '../../src/lib/nearest.ts'
import { type TestnetOptions, testnetFlags } from '../flags.ts'
import type { Scenario, ScenarioFlags } from './scenario.ts'
import { SCENARIOS } from './shipped/index.ts'

export interface NamedScenario extends Scenario {
  name: string
}

const scenarioSchema = z.object({
  about: z.string(),
  testnet: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
  steps: z.custom<Scenario['steps']>((value) => typeof value === 'function', 'expected a function'),
})

/** The scenarios of `--scenario`: shipped ones, and the user's files. Throws UsageError. */
export async function chooseScenarios(named: readonly string[]): Promise<NamedScenario[]> {
  return await Promise.all(named.map(async (name) => ({ name, ...(SCENARIOS[name] ?? (await scenarioIn(name))) })))
}

async function scenarioIn(file: string): Promise<Scenario> {
  if (!/[./]/.test(file)) {
    throw new UsageError(`--scenario: ${unknownName('scenario', file, Object.keys(SCENARIOS))}; or a file`)
  }
  try {
    const { default: scenario }: { default?: unknown } = await import(pathToFileURL(resolve(file)).href)
    return scenarioSchema.parse(scenario)
  } catch (cause) {
    const why =
      cause instanceof z.ZodError
        ? `its default export is no scenario: ${z.prettifyError(cause)}`
        : describeError(cause)
    throw new UsageError(`--scenario ${file}: ${why}`, { cause })
  }
}

/** Flags by their keys in a scenario. */
const FLAGS = new Map<string, FlagSpec<unknown>>(Object.values(testnetFlags).map((spec) => [flagKey(spec.name), spec]))

/** Directory of a testnet for scenarios, which is reset at each run. */
const DIR = 'devnet-scenario'

/** The options of a testnet, and the flags that the user gave. */
interface Chosen {
  options: TestnetOptions
  given: ReadonlySet<string>
}

/** The options that suit all scenarios in sequence. Flags of the user stay. */
export function optionsFor(scenarios: readonly NamedScenario[], { options, given }: Chosen): Chosen {
  if (scenarios.length === 0) return { options, given }
  const wanted: ScenarioFlags = given.has('dir') ? {} : { dir: DIR, reset: true }
  for (const { name, testnet = {} } of scenarios) {
    for (const [key, value] of Object.entries(testnet)) {
      if (!isFlag(key)) throw new UsageError(`--scenario ${name}: there is no flag for "${key}"`)
      const other = wanted[key]
      // A scenario also runs with more nodes than it needs.
      if (key === 'nodes') wanted.nodes = Math.max(Number(value), Number(other ?? 0))
      else if (other === undefined || other === value) wanted[key] = value
      else {
        const flag = `--${FLAGS.get(key)?.name}`
        throw new UsageError(`--scenario ${name} needs ${flag} ${value}, another one ${other}: run it alone`)
      }
    }
  }
  const added = Object.entries(wanted).flatMap(([key, value]) => {
    const spec = FLAGS.get(key)
    return spec === undefined || given.has(spec.name)
      ? []
      : [{ key, name: spec.name, value: spec.parse(String(value)) }]
  })
  return {
    options: { ...options, ...Object.fromEntries(added.map(({ key, value }) => [key, value])) },
    given: new Set([...given, ...added.map(({ name }) => name)]),
  }
}

function isFlag(key: string): key is keyof TestnetOptions {
  return FLAGS.has(key)
}
