// The scripts by which shells complete: each asks `workerctl complete`, which prints a word and
// what it means on each line, and `:files` if the shell is to complete a path.

/// A shell with completion.
enum CompletionScript: String {
    case bash, zsh, fish

    var text: String {
        switch self {
        case .bash: Self.bashText
        case .zsh: Self.zshText
        case .fish: Self.fishText
        }
    }

    private static let bashText = #"""
        # Completion of workerctl for bash, made by `workerctl completion bash`.
        _workerctl() {
            local word
            COMPREPLY=()
            while IFS=$'\t' read -r word _; do
                case $word in
                    '') ;;
                    :files) compopt -o default ;;
                    *) COMPREPLY+=("$word") ;;
                esac
            done < <("${COMP_WORDS[0]}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
        }
        complete -F _workerctl workerctl

        """#

    private static let zshText = #"""
        #compdef workerctl
        # Completion of workerctl for zsh, made by `workerctl completion zsh`.
        _workerctl() {
            local line
            local -a found lines
            lines=("${(@f)$("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
            for line in "${lines[@]}"; do
                case $line in
                    '') ;;
                    :files) _files ;;
                    *) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
                esac
            done
            _describe 'workerctl' found
        }
        if [ "${funcstack[1]}" = _workerctl ]; then
            _workerctl "$@"
        else
            compdef _workerctl workerctl
        fi

        """#

    private static let fishText = #"""
        # Completion of workerctl for fish, made by `workerctl completion fish`.
        function __workerctl_complete
            set -l words (commandline -opc)
            set -l program $words[1]
            set -e words[1]
            set -l current (commandline -ct)
            for line in ($program complete -- $words $current 2>/dev/null)
                if test "$line" = :files
                    __fish_complete_path $current
                else
                    echo $line
                end
            end
        end
        complete -c workerctl -f -a '(__workerctl_complete)'

        """#
}
