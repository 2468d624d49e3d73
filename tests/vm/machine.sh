# The virtual machine, as build-image saves it and run restores it. A saved state fits only the very
# machine it was taken from, so both start it through start_machine. To be sourced by bash.

readonly REPO=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
readonly VM=$REPO/tests/vm
readonly QEMU=qemu-system-x86_64

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 125
}

# start_machine IMAGE WORK LIMIT [QEMU-OPTION...]: become qemu on the image's folder IMAGE, for at most
# LIMIT seconds, and end with the calling shell. WORK holds what is joined to the guest's ports
# (request, stdout, stderr, status: see guest/usr/local/sbin/cove-vm-agent), the folder scratch, and
# receives console.log.
start_machine() {
    local image=$1 work=$2 limit=$3
    local kernel=(root=/dev/vda rootfstype=ext4 rw console=ttyS0 quiet panic=-1 mitigations=off
        nowatchdog rcupdate.rcu_cpu_stall_suppress=1 fsck.mode=skip systemd.show_status=0)
    local options=(
        -name cove-vm -nodefaults -no-user-config -display none -no-reboot -nic none
        -machine pc -cpu Nehalem -accel tcg,thread=multi -smp 2 -m 2G
        -kernel "$image/vmlinuz" -initrd "$image/initrd" -append "${kernel[*]}"
        -serial "file:$work/console.log"
        -device virtio-serial-pci
        -fsdev "local,id=cove,path=$REPO,security_model=none,multidevs=remap,readonly=on"
        -device virtio-9p-pci,fsdev=cove,mount_tag=cove
        -fsdev "local,id=scratch,path=$work/scratch,security_model=none,multidevs=remap"
        -device virtio-9p-pci,fsdev=scratch,mount_tag=scratch
        -chardev "pipe,id=request,path=$work/request"
        -device virtserialport,chardev=request,name=cove.request
    )
    local port
    for port in stdout stderr status; do
        options+=(-chardev "file,id=$port,path=$work/$port"
            -device "virtserialport,chardev=$port,name=cove.$port")
    done
    exec setpriv --pdeathsig TERM timeout --kill-after=5 "$limit" "$QEMU" "${options[@]}" "${@:4}"
}
