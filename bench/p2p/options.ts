import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

export interface BenchOptions {
  /** Sizes of networks. Each size is one network. */
  hosts: number[]
  /** Bytes of a message on the wire, signature and compression included. */
  sizes: number[]
  blocks: number
  /**
   * Blocks published before the measured ones, by ours only. V8 optimises a function after hundreds of calls, which a node
   * reaches a few minutes after its start. With 15, a block of 1 kB takes a third more CPU.
   */
  warmup: number
  intervalMs: number
  /** Numbers of processes for our hosts. Each is one column. */
  processes: number[]
  /** Number of earlier hosts that each host dials. */
  dial: number
  rounds: number
  /** Milliseconds for the mesh to form before the first block. */
  waitMs: number
  rival: string | undefined
  idontwant: boolean
  /** Folder for CPU profiles of our processes. */
  profile: string | undefined
  mode: 'network' | 'join' | 'heap'
}

const RIVAL = fileURLToPath(new URL('../../../shared/rivals/gossip-go/', import.meta.url))

export const USAGE = `node bench/p2p/main.ts [--hosts 50] [--size 1000,100000] [--processes 1] [--blocks 40] [--rounds 3]
  --hosts N,…       hosts of ours, and of the rival
  --size BYTES,…    of a message as it travels, signed and compressed
  --processes K,…   our hosts are spread over so many processes
  --blocks N        published in each round
  --warmup N        published before them, by ours (200)
  --interval MS     time between blocks (500)
  --dial N          earlier hosts that each host dials (8)
  --wait MS         time for the mesh to form (6000)
  --rounds N        ours and the rival's take turns; medians are shown
  --rival DIR       sources of gossip-go; 'none' leaves it out
  --idontwant off   nobody says that it has a block already
  --profile DIR     CPU profiles of our processes
  --join            one host of ours with so many Go peers
  --heap            one network, the heap after each tenth of the blocks`

/** Throws an Error with one line for the user. */
export function parseBenchOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      hosts: { type: 'string' },
      size: { type: 'string' },
      processes: { type: 'string', default: '1' },
      blocks: { type: 'string' },
      warmup: { type: 'string', default: '200' },
      interval: { type: 'string' },
      dial: { type: 'string', default: '8' },
      wait: { type: 'string', default: '6000' },
      rounds: { type: 'string', default: '3' },
      rival: { type: 'string', default: RIVAL },
      idontwant: { type: 'string', default: 'on' },
      profile: { type: 'string' },
      join: { type: 'boolean', default: false },
      heap: { type: 'boolean', default: false },
    },
  })
  if (values.idontwant !== 'on' && values.idontwant !== 'off') throw new Error('--idontwant is on or off')
  return {
    hosts: numbers('--hosts', values.hosts ?? (values.heap ? '16' : '50')),
    sizes: numbers('--size', values.size ?? (values.heap ? '1000' : '1000,100000')),
    blocks: number('--blocks', values.blocks ?? (values.heap ? '2000' : '40')),
    warmup: number('--warmup', values.warmup),
    intervalMs: number('--interval', values.interval ?? (values.heap ? '70' : '500')),
    processes: numbers('--processes', values.processes),
    dial: number('--dial', values.dial),
    rounds: number('--rounds', values.rounds),
    waitMs: number('--wait', values.wait),
    rival: values.rival === 'none' ? undefined : values.rival,
    idontwant: values.idontwant === 'on',
    profile: values.profile,
    mode: values.join ? 'join' : values.heap ? 'heap' : 'network',
  }
}

function numbers(flag: string, text: string): number[] {
  return text.split(',').map((part) => number(flag, part))
}

function number(flag: string, text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new Error(`${flag} ${text}: expected a whole number above 0`)
  return Number(text)
}
