import { readPageFiles } from './pageFiles.ts'

process.stdout.write(JSON.stringify([...readPageFiles()]))
