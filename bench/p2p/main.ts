import { median } from '../figures.ts'
import { type Figures, LEGEND, ratioRow, summarize, tableHead, tableRow } from './figures.ts'
import { type JoinFigures, runJoin } from './join.ts'
import { type BenchOptions, parseBenchOptions, USAGE } from './options.ts'
import { runHeap, runOurNetwork } from './ourNetwork.ts'
import { buildRival, type Rival, runRival } from './rival.ts'

// Propagation time of a block through a network of our hosts on loopback, compared with go-libp2p's. See USAGE.

/** After this time gossipsub has removed a message from its caches. */
const SEEN_MS = 66_000

async function main(): Promise<void> {
  const options = parseBenchOptions(process.argv.slice(2))
  if (options.mode === 'heap') return heap(options)
  const rival = options.rival === undefined ? 'left out' : await buildRival(options.rival)
  if (typeof rival === 'string') console.log(`without go-libp2p: ${rival}`)
  try {
    if (options.mode === 'join') {
      if (typeof rival !== 'string') await join(options, rival)
      return
    }
    await networks(options, typeof rival === 'string' ? undefined : rival)
  } finally {
    if (typeof rival !== 'string') await rival.remove()
  }
}

async function networks(options: BenchOptions, rival: Rival | undefined): Promise<void> {
  console.log(`${LEGEND}\n${tableHead()}`)
  for (const size of options.sizes) {
    for (const hosts of options.hosts) {
      const ours = new Map<number, Figures[]>(options.processes.map((count) => [count, []]))
      const theirs: Figures[] = []
      for (let round = 0; round < options.rounds; round++) {
        for (const [processes, figures] of ours)
          figures.push(await runOurNetwork({ ...options, size, hosts, processes }))
        if (rival !== undefined) theirs.push(await runRival(rival, { ...options, size, hosts }))
      }
      const name = `${hosts} hosts, ${size / 1000} kB`
      const rivals = summarize(theirs)
      for (const [processes, figures] of ours) {
        console.log(tableRow(`${name}, ${processes} process${processes === 1 ? '' : 'es'}`, summarize(figures)))
      }
      if (theirs.length === 0) continue
      console.log(tableRow(`${name}, go-libp2p`, rivals))
      for (const [processes, figures] of ours) {
        console.log(
          ratioRow(`  ours to theirs, ${processes} process${processes === 1 ? '' : 'es'}`, summarize(figures), rivals),
        )
      }
    }
  }
}

async function join(options: BenchOptions, rival: Rival): Promise<void> {
  console.log(
    'one host of ours with Go peers: ms of CPU a block, and of heartbeats between two (one of theirs: both), p99 of event-loop delay in ms',
  )
  for (const hosts of options.hosts) {
    for (const size of options.sizes) {
      const rounds: JoinFigures[] = []
      for (let round = 0; round < options.rounds; round++)
        rounds.push(await runJoin(rival, { ...options, hosts, size }))
      const of = (pick: (figures: JoinFigures) => number): string => median(rounds.map(pick)).toFixed(1)
      const missed = rounds.reduce((sum, figures) => sum + figures.missed, 0)
      console.log(
        `${hosts} Go peers, ${size / 1000} kB: CPU ${of((f) => f.cpuPerBlock)} and ${of((f) => f.idlePerBlock)} idle (Go ${of((f) => f.rivalCpuPerBlock)}), ` +
          `loop ${of((f) => f.loopDelayP99)}, copies ${of((f) => f.copies)}, missed ${missed}`,
      )
    }
  }
}

async function heap(options: BenchOptions): Promise<void> {
  const [hosts = 16] = options.hosts
  const [size = 1000] = options.sizes
  const [processes = 1] = options.processes
  const heaps = await runHeap({ ...options, hosts, size, processes }, SEEN_MS)
  console.log(
    `MB of heap a host after a collection, ${hosts} hosts: at the start, after each tenth of ${options.blocks} blocks,`,
  )
  console.log(`and ${SEEN_MS / 1000} s later: ${heaps.map((mb) => mb.toFixed(2)).join(' ')}`)
}

if (process.argv.includes('--help')) console.log(USAGE)
else
  main().catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error)
    console.error(USAGE)
    process.exitCode = 1
  })
