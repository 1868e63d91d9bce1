// Runs the sample that is named. The samples stand between marks: `// sample: NAME` and `// end`.

import Glibc

@main struct Articles {
    static func main() async throws {
        switch CommandLine.arguments.dropFirst().first {
        case "overview": overview()
        case "first-loop": firstLoop()
        case "first-worker": try firstWorker()
        case "lease": lease()
        case "messages": try await messages()
        case "worker-state": try await workerState()
        case "first-answer": try await firstAnswer()
        case "fast-answers": try fastAnswers()
        case "watched": try watched()
        case "replacing": try replacing()
        case "first-pool": try await firstPool()
        case "controller": controller()
        case "own-thread": ownThread()
        case "priority": try priority()
        case "perform": try perform()
        case "descriptor": try descriptor()
        case "command-buffer": try commandBuffer()
        case "message-port": try messagePort()
        case "database": try await database()
        case "connections": try await connections()
        case "canvas": try await canvas()
        case "interpreter": try await interpreter()
        case "thermostat": try await thermostat()
        case "task": try await task()
        case "release-pool": releasePool()
        case "timeout": timeout()
        case "ask": try await ask()
        case "sleep": try await sleepOnLoop()
        case "ticks": try await ticks()
        case "perform-on-main": try performOnMain()
        case "later": try later()
        case "perform-after-delay": try performAfterDelay()
        case "no-argument": try performWithoutArgument()
        case "ended": try await endInTask()
        case "global-actor": await globalActor()
        default:
            print("which sample?")
            exit(64)
        }
    }
}
