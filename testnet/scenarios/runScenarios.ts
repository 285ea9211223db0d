import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../src/lib/clock.ts'
import type { RunCommand } from '../commands/commands.ts'
import type { Emit, TestnetEvent } from '../runner/events.ts'
import { timelinePage } from '../timeline/timelinePage.ts'
import { type RecorderModules, TimelineRecorder } from '../timeline/timelineRecorder.ts'
import type { NamedScenario } from './chooseScenarios.ts'
import { Now, type ObservedTestnet } from './now.ts'
import { runScenario } from './runScenario.ts'

export interface ScenariosModules {
  testnet: ObservedTestnet & RecorderModules['testnet']
  runCommand: RunCommand
  emit: Emit
  /** Subscribes to all events of the runner. */
  listen: (listener: Emit) => void
}

/** Runs the scenarios in sequence on a ready testnet, and writes the timeline. Throws if one fails. */
export async function runScenarios(
  scenarios: readonly NamedScenario[],
  { testnet, runCommand, emit, listen }: ScenariosModules,
  dir: string,
  signal: AbortSignal,
): Promise<void> {
  const recorder = new TimelineRecorder({ testnet, clock: systemClock })
  listen((event: TestnetEvent) => recorder.note(event))
  const ending = new AbortController()
  const recorded = recorder.run(ending.signal)
  const modules = { readNow: () => Now.of(testnet), runCommand, emit, clock: systemClock }
  try {
    for (const { name, ...scenario } of scenarios) await runScenario(name, scenario, modules, signal)
  } finally {
    ending.abort()
    await recorded
    const timeline = recorder.timeline()
    const [json, page] = [join(dir, 'timeline.json'), join(dir, 'timeline.html')]
    await writeFile(json, `${JSON.stringify(timeline)}\n`)
    await writeFile(page, timelinePage(timeline))
    emit({ event: 'timeline', json, page })
  }
}
